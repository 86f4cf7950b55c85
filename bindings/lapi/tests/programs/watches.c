/*
 * How long a counter's list of destinations lasts: until the counter is set again, whatever its memory holds by then,
 * or a wait has told all that there is to tell.
 * tasks: 3
 */
//= LAPI Guide, LAPI_Setcntr, sets a counter
//= LAPI Guide, LAPI_Setcntr_wstatus, sets a counter to 0 with a list of destinations
//= LAPI Guide, LAPI_Nopoll_wait, waits without polling
//= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_TGT_PURGED
//= type=test
#include "check.h"
#include <pthread.h>

static lapi_cntr_t cntr, end, ready;
static uint list[2] = {1, 2};
static int status[2], left;
static char box[8];
static void **boxes;

/* Counts when the wait has most likely begun. */
static void *later(void *argument)
{
    usleep(20000);
    OK(LAPI_Put(hndl, me, 0, NULL, NULL, NULL, &cntr, NULL));
    return argument;
}

static void wait_for_one(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, later, NULL) == 0);
    OK(LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    CHECK(left == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void purge_and_resume(uint task)
{
    OK(LAPI_Purge_totask(hndl, task));
    OK(LAPI_Resume_totask(hndl, task));
}

static void memory_that_is_used_again(void)
{
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 1, list, status));
    memset(&cntr, 0, sizeof cntr);
    OK(LAPI_Setcntr(hndl, &cntr, 0));
    status[0] = 0; /* The array is the program's again. */
    purge_and_resume(1);
    CHECK(status[0] == 0);
    wait_for_one();

    /* Memory full of zeroes is a counter, too, and not the one that has a list. */
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 1, list, status));
    purge_and_resume(1);
    CHECK(status[0] == LAPI_MSG_PURGED);
    memset(&cntr, 0, sizeof cntr);
    wait_for_one();
    OK(LAPI_Setcntr(hndl, &cntr, 0));
}

static void arrays_that_are_not_needed_any_more(void)
{
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 1, list, status));
    OK(LAPI_Get(hndl, 1, 1, boxes[1], box, NULL, &cntr));
    OK(LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    CHECK(left == 0 && status[0] == LAPI_MSG_RECVD);
    purge_and_resume(1);
    CHECK(status[0] == LAPI_MSG_RECVD);

    /* Of one of these something is still to come. */
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 2, list, status));
    OK(LAPI_Get(hndl, 1, 1, boxes[1], box, NULL, &cntr));
    OK(LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    purge_and_resume(1);
    CHECK(status[0] == LAPI_MSG_PURGED_RCVD && status[1] == LAPI_MSG_INITIAL);
    OK(LAPI_Get(hndl, 2, 1, boxes[2], box, NULL, &cntr));
    OK(LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    CHECK(status[0] == LAPI_MSG_PURGED_RCVD && status[1] == LAPI_MSG_RECVD);
    purge_and_resume(2);
    CHECK(status[0] == LAPI_MSG_PURGED_RCVD && status[1] == LAPI_MSG_RECVD);

    /* A purge that no wait has told of is told, though nothing is written any more. */
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 2, list, status));
    purge_and_resume(1);
    OK(LAPI_Get(hndl, 2, 1, boxes[2], box, NULL, &cntr));
    while (value_of(&cntr) == 0)
        ;
    OK(LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    CHECK(status[0] == LAPI_MSG_PURGED && status[1] == LAPI_MSG_RECVD);
    purge_and_resume(2);
    CHECK(status[1] == LAPI_MSG_RECVD);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
}

static void waits_after_a_purge(void)
{
    /* A purge is told once, also one before the wait; then those count that are left. */
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 2, list, status));
    purge_and_resume(1);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(hndl, &cntr, 2, &left));
    CHECK(left == 0 && status[0] == LAPI_MSG_PURGED && status[1] == LAPI_MSG_INITIAL);
    wait_for_one();
    CHECK(status[0] == LAPI_MSG_PURGED && status[1] == LAPI_MSG_INITIAL);
    /* Another purge is another matter. */
    purge_and_resume(1);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    purge_and_resume(2);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(hndl, &cntr, 1, &left));
    CHECK(status[0] == LAPI_MSG_PURGED && status[1] == LAPI_MSG_PURGED);
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &end, 0));
    OK(LAPI_Setcntr(hndl, &ready, 0));
    void **ends = exchange(&end), **readies = exchange(&ready);
    boxes = exchange(box);
    if (tasks < 3) {
        finish();
        return 0;
    }
    if (me == 0) {
        /* Who is purged amid the exchange can't end it. */
        OK(LAPI_Waitcntr(hndl, &ready, 2, NULL));
        memory_that_is_used_again();
        arrays_that_are_not_needed_any_more();
        waits_after_a_purge();
        /* These arrive though nobody fences: who has been told ends, and answers no fence. */
        OK(LAPI_Put(hndl, 1, 0, NULL, NULL, ends[1], NULL, NULL));
        OK(LAPI_Put(hndl, 2, 0, NULL, NULL, ends[2], NULL, NULL));
    } else {
        OK(LAPI_Put(hndl, 0, 0, NULL, NULL, readies[0], NULL, NULL));
        /* Whoever is resumed must still be there. */
        OK(LAPI_Waitcntr(hndl, &end, 1, NULL));
    }
    OK(LAPI_Term(hndl));
    return 0;
}
