/*
 * Counters with destination lists, purge and resume, waits that a purge ends.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Setcntr_wstatus, sets a counter to 0 with a list of destinations
//= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_RECVD
//= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_INITIAL and LAPI_MSG_INVALID
//= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_PURGED and LAPI_MSG_PURGED_RCVD
//= LAPI Guide, LAPI_Nopoll_wait, waits without polling
//= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_TGT_PURGED
//= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_MULTIPLE_WAITERS
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= LAPI Guide, LAPI_Resume_totask, takes up communication again
//= type=test
#include "check.h"
#include <limits.h>
#include <pthread.h>

static lapi_cntr_t tgt, plain;
static volatile int in_wait;
static char box[8];

static void *waiter(void *expected)
{
    int left = -1;
    in_wait = 1;
    int code = LAPI_Nopoll_wait(hndl, &tgt, 99, &left);
    CHECK(code == *(int *)expected);
    return NULL;
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &plain, 0));
    void **counters = exchange(&tgt), **boxes = exchange(box);
    if (tasks < 4) {
        finish();
        return 0;
    }
    uint list[3] = {1, 2, 3};
    int status[3] = {-1, -1, -1}, left = -1;
    /* Counts that lead out of the arrays, and tasks that there are none of, change nothing. */
    OK(LAPI_Setcntr(hndl, &plain, 7));
    GIVES(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(hndl, &plain, -1, list, status));
    GIVES(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(hndl, &plain, INT_MAX, list, status));
    GIVES(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(hndl, &plain, tasks + 1, list, status));
    list[2] = tasks;
    GIVES(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(hndl, &plain, 3, list, status));
    list[2] = 3;
    CHECK(value_of(&plain) == 7 && status[0] == -1 && status[1] == -1 && status[2] == -1);
    OK(LAPI_Setcntr_wstatus(hndl, &plain, INT_MAX, NULL, NULL));
    OK(LAPI_Setcntr_wstatus(hndl, &plain, 0, list, status));
    CHECK(value_of(&plain) == 0 && status[0] == -1);
    if (me == 0) {
        OK(LAPI_Setcntr_wstatus(hndl, &tgt, 3, list, status));
        CHECK(status[0] == LAPI_MSG_INITIAL && status[1] == LAPI_MSG_INITIAL && status[2] == LAPI_MSG_INITIAL);
    }
    OK(LAPI_Gfence(hndl));
    if (me == 1 || me == 2) {
        OK(LAPI_Put(hndl, 0, 1, boxes[0], box, counters[0], NULL, NULL));
    }
    OK(LAPI_Fence(hndl));
    if (me == 0) {
        OK(LAPI_Nopoll_wait(hndl, &tgt, 2, &left));
        CHECK(left == 0);
        CHECK(status[0] == LAPI_MSG_RECVD && status[1] == LAPI_MSG_RECVD && status[2] == LAPI_MSG_INITIAL);

        /* Two threads can't wait for one counter, and a purge of a task that has not answered ends the wait. */
        pthread_t thread;
        int expected = LAPI_ERR_TGT_PURGED;
        CHECK(pthread_create(&thread, NULL, waiter, &expected) == 0);
        while (!in_wait)
            usleep(100);
        usleep(20000);
        GIVES(LAPI_ERR_MULTIPLE_WAITERS, LAPI_Nopoll_wait(hndl, &tgt, 1, &left));
        OK(LAPI_Purge_totask(hndl, 2));
        CHECK(status[1] == LAPI_MSG_PURGED_RCVD);
        usleep(20000);
        OK(LAPI_Purge_totask(hndl, 3));
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(status[0] == LAPI_MSG_RECVD && status[1] == LAPI_MSG_PURGED_RCVD && status[2] == LAPI_MSG_PURGED);

        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Put(hndl, 3, 1, boxes[3], box, NULL, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Get(hndl, 3, 1, boxes[3], box, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Amsend(hndl, 3, (void *)1, NULL, 0, NULL, 0, NULL, NULL, NULL));

        int in = 1, variable = 0;
        long long wide = 1;
        ulong len = 1;
        void *mine = box, *theirs = boxes[3];
        lapi_vec_t from = {LAPI_GEN_IOVECTOR, 1, &mine, &len}, to = {LAPI_GEN_IOVECTOR, 1, &theirs, &len};
        lapi_put_t put = {LAPI_PUT_XFER, 0, 3, (lapi_long_t)(uintptr_t)boxes[3], box, 1, NULL, NULL, 0, NULL, NULL};
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Rmw(hndl, SWAP, 3, boxes[3], &in, &variable, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Rmw64(hndl, SWAP, 3, boxes[3], &wide, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Putv(hndl, 3, &to, &from, NULL, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Getv(hndl, 3, &to, &from, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Amsendv(hndl, 3, (void *)1, NULL, 0, &from, NULL, NULL, NULL));
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Xfer(hndl, (lapi_xfer_t *)&put));

        /* A new list finds out who is purged already; a plain counter has no list. */
        OK(LAPI_Setcntr_wstatus(hndl, &tgt, 3, list, status));
        CHECK(status[0] == LAPI_MSG_INITIAL && status[1] == LAPI_MSG_INVALID && status[2] == LAPI_MSG_INVALID);
        OK(LAPI_Resume_totask(hndl, 2));
        OK(LAPI_Resume_totask(hndl, 3));
        OK(LAPI_Setcntr_wstatus(hndl, &tgt, 3, list, status));
        CHECK(status[1] == LAPI_MSG_INITIAL && status[2] == LAPI_MSG_INITIAL);
        OK(LAPI_Setcntr(hndl, &tgt, 0));
        OK(LAPI_Put(hndl, 3, 1, boxes[3], box, counters[3], NULL, NULL));
        OK(LAPI_Put(hndl, 2, 1, boxes[2], box, counters[2], NULL, NULL));
    }
    /* Whoever is resumed must still be there. */
    if (me == 2 || me == 3)
        OK(LAPI_Nopoll_wait(hndl, &tgt, 1, NULL));
    OK(LAPI_Term(hndl));
    return 0;
}
