/*
 * Both tasks purge each other with messages on their way, resume, and go on; then only one of them does. Nothing from before
 * a purge arrives after it, and nothing of the former messages stands in the way of new ones.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= LAPI Guide, LAPI_Resume_totask, takes up communication again
//= type=test
#include "check.h"
#include <fcntl.h>

#define LONGEST (8 << 20)
#define ROUNDS 3

static char *from, *into;
static char box[8];
static lapi_cntr_t origin, arrived, done;
static void **boxes, **counters, **handlers, **processes;
static volatile int seen[3 * ROUNDS + 3];

/* The user header is the message's number. */
static void *receive(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len, compl_hndlr_t **done_with, void **user)
{
    int number;
    (void)h;
    CHECK(*uhdr_len == sizeof number && *len <= LONGEST);
    memcpy(&number, uhdr, sizeof number);
    CHECK(number >= 0 && number < 3 * ROUNDS + 3);
    seen[number]++;
    *done_with = NULL;
    *user = NULL;
    return into;
}

/* What tasks tell each other while no message can: each stage is a file. */
static const char *stage(int task, int number)
{
    static char name[96];
    snprintf(name, sizeof name, "/tmp/lapi-purged-%ld-%d-%d", (long)(intptr_t)processes[0], task, number);
    return name;
}

static void reach(int number)
{
    int file = open(stage(me, number), O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0 && close(file) == 0);
}

/* No call of LAPI meanwhile. */
static void wait_for(int number)
{
    while (access(stage(1 - me, number), F_OK) != 0)
        usleep(200);
    CHECK(unlink(stage(1 - me, number)) == 0);
}

static void message(int number, ulong len, lapi_cntr_t *completed)
{
    OK(LAPI_Amsend(hndl, 1 - me, handlers[1 - me], &number, sizeof number, from, len, NULL, NULL, completed));
}

/* Everything works in both directions, and nothing from before has arrived meanwhile. */
static void works(int number, int first, int second)
{
    int left;
    memset(from, number, 100000);
    OK(LAPI_Put(hndl, 1 - me, sizeof box, boxes[1 - me], from, counters[1 - me], NULL, &done));
    OK(LAPI_Waitcntr(hndl, &done, 1, &left));
    CHECK(left == 0);
    OK(LAPI_Waitcntr(hndl, &arrived, 1, &left));
    CHECK(left == 0 && box[0] == number);
    OK(LAPI_Fence(hndl));
    message(number, 100000, &done);
    OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
    OK(LAPI_Fence(hndl));
    OK(LAPI_Gfence(hndl));
    CHECK(seen[number] == 1 && into[0] == number && into[99999] == number);
    CHECK(first < 0 || (seen[first] == 0 && seen[second] == 0));
}

int main(void)
{
    int on = 0;
    start();
    OK(LAPI_Senv(hndl, INTERRUPT_SET, on));
    from = calloc(1, LONGEST);
    into = calloc(1, LONGEST);
    CHECK(from && into);
    OK(LAPI_Setcntr(hndl, &origin, 0));
    OK(LAPI_Setcntr(hndl, &arrived, 0));
    OK(LAPI_Setcntr(hndl, &done, 0));
    boxes = exchange(box);
    counters = exchange(&arrived);
    handlers = exchange((void *)receive);
    processes = exchange((void *)(intptr_t)getpid());
    if (tasks != 2) {
        finish();
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        int first = 3 * round, second = first + 1;
        OK(LAPI_Gfence(hndl));
        reach(10 * round);
        wait_for(10 * round);
        /* The long one is still going out. */
        if (me == 0 || round > 0) {
            message(first, 1000, NULL);
            message(second, LONGEST, NULL);
        }
        reach(10 * round + 1);
        wait_for(10 * round + 1);
        OK(LAPI_Purge_totask(hndl, 1 - me));
        /* In turn: both before either resumes, task 0 before task 1 has purged, and the other way round. */
        if (round == 0 || me == round - 1) {
            reach(10 * round + 2);
            wait_for(10 * round + 2);
            OK(LAPI_Resume_totask(hndl, 1 - me));
            reach(10 * round + 3);
            wait_for(10 * round + 3);
        } else {
            reach(10 * round + 2);
            wait_for(10 * round + 2);
            reach(10 * round + 3);
            wait_for(10 * round + 3);
            OK(LAPI_Resume_totask(hndl, 1 - me));
        }
        works(first + 2, first, second);
    }
    /* Task 0 alone begins anew; what it has sent before may have arrived. */
    OK(LAPI_Gfence(hndl));
    reach(100);
    wait_for(100);
    if (me == 0) {
        message(3 * ROUNDS, 1000, NULL);
        message(3 * ROUNDS + 1, LONGEST, NULL);
        OK(LAPI_Purge_totask(hndl, 1));
        OK(LAPI_Resume_totask(hndl, 1));
        OK(LAPI_Put(hndl, 1, 1, boxes[1], from, counters[1], NULL, &done));
        OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
        OK(LAPI_Fence(hndl));
    } else {
        /* What it sends before it knows would be given up. */
        OK(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
    }
    works(3 * ROUNDS + 2, -1, -1);
    OK(LAPI_Term(hndl));
    return 0;
}
