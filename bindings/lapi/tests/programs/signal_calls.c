/*
 * A timer's signal handler calls LAPI wherever it interrupts the program. A call in the midst of another one that holds the lock is
 * refused, others work; what the program does itself is whole. Handlers of messages and owners of the lock may call as ever.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Init, initializes a context
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/time.h>

#define ROUNDS 400

static lapi_thread_func_t lock;
static lapi_cntr_t tgt, org, cmpl, extra, sent, watched;
static char box[64], aside[64], data[64];
static void **headers, **counters, **boxes, **asides;
static volatile int other, refused, accepted, arrived, on;

/* Runs anywhere: checks come later. */
static volatile int unexpected;
/* In this round. */
static volatile int ticks;

static void tick(int number)
{
    int value;
    (void)number;
    /* On a crowded core a call lets others run, for longer than the timer waits: the program must get on, too. */
    if (!on || ++ticks > 4)
        return;
    int codes[] = {
        LAPI_Put(hndl, other, 8, asides[other], data, counters[other], &sent, NULL),
        LAPI_Getcntr(hndl, &extra, &value),
        LAPI_Probe(hndl),
        LAPI_Setcntr(hndl, &extra, 0),
    };
    for (int i = 0; i < 4; i++) {
        if (codes[i] == LAPI_ERR_UNKNOWN && i < 3)
            refused++;
        else if (codes[i] == LAPI_SUCCESS)
            accepted += i == 0;
        else
            unexpected = codes[i];
    }
}

static void inlined(lapi_handle_t *h, void *argument)
{
    int value;
    (void)argument;
    /* Legitimate, though the lock is held: a reply. */
    OK(LAPI_Getcntr(*h, &extra, &value));
    arrived++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    ((lapi_return_info_t *)msg_len)->ret_flags = LAPI_SEND_REPLY;
    *completion = inlined;
    return box;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    other = 1 - me;
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Setcntr(hndl, &extra, 0));
    OK(LAPI_Setcntr(hndl, &sent, 0));
    headers = exchange((void *)header), counters = exchange(&extra), boxes = exchange(box), asides = exchange(aside);
    /* Counters without a list of destinations can be set while there is one with a list. */
    uint list = other;
    int status;
    OK(LAPI_Setcntr_wstatus(hndl, &watched, 1, &list, &status));
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    on = 1;
    for (int i = 0; i < ROUNDS || ((refused < 3 || accepted < 1) && i < 1000 * ROUNDS); i++) {
        int hold = i % 7 == 0;
        ticks = 0;
        if (hold)
            GIVES(0, lock.mutex_lock(hndl));
        memset(data, i, sizeof data);
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, 1 + i % 64, NULL, &org, &cmpl));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        if (hold)
            GIVES(0, lock.mutex_unlock(hndl));
    }
    on = 0;
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(unexpected == 0);
    CHECK(accepted > 0);
    CHECK(refused > 0);
    OK(LAPI_Gfence(hndl));
    CHECK(arrived >= ROUNDS);
    /* Each put that was accepted has counted. */
    OK(LAPI_Fence(hndl));
    CHECK(value_of(&sent) == accepted);
    finish();
    return 0;
}
