/*
 * A task that computes is served in interrupt mode, and not in polling mode until it calls; toggling around loops.
 * tasks: 2
 */
//= LAPI Guide, Running in interrupt mode, messages are served while the program computes
//= LAPI Guide, LAPI_Probe, one round of the dispatcher
//= LAPI Guide, LAPI_Msgpoll, loops until a message completes
//= type=test
#include "check.h"

static volatile int arrived, completed;
static lapi_cntr_t cmpl, org, tgt;
static char box[100];

static void done(lapi_handle_t *h, void *argument)
{
    (void)h, (void)argument;
    completed++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **compl, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    arrived++;
    *compl = done;
    return box;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        for (int i = 0; i < 5; i++) {
            OK(LAPI_Amsend(hndl, 1, headers[1], NULL, 0, box, 100, NULL, NULL, &cmpl));
            OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        }
    } else {
        /* No call at all: the progress thread does it. */
        while (completed < 5)
            ;
    }
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        OK(LAPI_Amsend(hndl, 1, headers[1], NULL, 0, box, 100, counters[1], &org, NULL));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Gfence(hndl));
    } else {
        /* It may have come with the end of the fence; if it has not, nothing brings it. */
        int early = arrived;
        CHECK(early == 5 || early == 6);
        usleep(50000);
        CHECK(arrived == early);
        lapi_msg_info_t info;
        while (arrived == 5) {
            OK(LAPI_Msgpoll(hndl, 1000, &info));
            /* What this task sent before has ended, too. */
            CHECK(info.status == LAPI_DISP_CNTR || (info.status & (LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE | LAPI_POLLING_NET)));
        }
        CHECK(arrived == 6);
        OK(LAPI_Gfence(hndl));
        do
            OK(LAPI_Msgpoll(hndl, 10, &info));
        while (info.status != LAPI_DISP_CNTR);
    }
    /* Toggling around each exchange, as runtimes do. */
    for (int i = 0; i < 200; i++) {
        OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
        int other = 1 - me;
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, box, 8, counters[other], NULL, NULL));
        while (value_of(&tgt) < (me == 1) + i + 1)
            OK(LAPI_Probe(hndl));
        OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
    }
    finish();
    return 0;
}
