/*
 * A message whose sending a purge ends: its send completion handler hears that it did not complete.
 * tasks: 2
 */
//= LAPI Guide, The send completion handler, reason is LAPI_ERR_SEND_INCOMP
//= type=test
#include "silence.h"

#define MANY (8 << 20)
static char data[MANY], box[8];
static lapi_cntr_t org, cmpl, tgt;
static volatile int told, reason = -1, about = -1;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return NULL;
}

static void sent(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    CHECK(*h == hndl && argument == data);
    reason = info->reason;
    about = info->src;
    told++;
}

int main(void)
{
    const char *transport = getenv("LAPIS_TRANSPORT");
    int lends = transport && strcmp(transport, "rdma") == 0;

    expect_signals();
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &silent, 0));
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt), **boxes = exchange(box);
    void **silences = exchange(&silent), **processes = exchange((void *)(intptr_t)getpid());
    if (me == 0) {
        wait_for_silence(processes[1]);
        lapi_am_t am = {LAPI_AM_XFER, 0, 1, (lapi_long_t)(uintptr_t)headers[1], 0, NULL, data, MANY, sent, data, 0, &org, &cmpl};
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&am));
        CHECK(told == 0);
        OK(LAPI_Purge_totask(hndl, 1));
        /* RDMA lends the target the data, and only the target can say that it does not read them any more. */
        CHECK(told == !lends);
        CHECK(lends || (reason == LAPI_ERR_SEND_INCOMP && about == 1));
        CHECK(value_of(&org) == 0 && value_of(&cmpl) == 0);
        GIVES(LAPI_ERR_TGT_PURGED, LAPI_Xfer(hndl, (lapi_xfer_t *)&am));
        CHECK(told == !lends);
        OK(LAPI_Resume_totask(hndl, 1));
        wake(processes[1]);
        while (!told)
            OK(LAPI_Probe(hndl));
        CHECK(told == 1 && reason == LAPI_ERR_SEND_INCOMP && about == 1);
        OK(LAPI_Put(hndl, 1, 1, boxes[1], data, counters[1], NULL, NULL));
    } else {
        /* So that the message can't be out. */
        be_silent(0, silences[0]);
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    }
    OK(LAPI_Term(hndl));
    return 0;
}
