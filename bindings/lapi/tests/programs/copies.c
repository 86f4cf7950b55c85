/*
 * MP_REXMIT_BUF_SIZE and MP_REXMIT_BUF_CNT: as many messages of that length as there are buffers are copied, so that what they
 * were sent from is free although nobody has received them. Over shared memory the second one would wait for room, as it would in
 * the lanes of hps: there the windows' datagrams carry them.
 * tasks: 2
 * env: MP_REXMIT_BUF_SIZE=2000000 MP_REXMIT_BUF_CNT=2 LAPIS_HPS_COPY=windows
 */
//= LAPI Guide, table 40, MP_REXMIT_BUF_SIZE and MP_REXMIT_BUF_CNT
//= type=test
#include "silence.h"

#define LONG 2000000
static char data[4][LONG + 8], box[LONG + 8];
static volatile int sent;
static lapi_cntr_t tgt;
static int arrived;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    arrived++;
    return box;
}

static void freed(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    (void)h;
    CHECK(info->reason == LAPI_SUCCESS);
    memset(argument, '!', LONG);
    sent++;
}

int main(void)
{
    int value, shm;
    expect_signals();
    start();
    CHECK(tasks == 2);
    OK(LAPI_Qenv(hndl, QUERY_SHM_ENABLED, &shm));
    OK(LAPI_Qenv(hndl, NUM_REX_BUFS, &value));
    CHECK(value == 2);
    OK(LAPI_Qenv(hndl, REX_BUF_SZ, &value));
    CHECK(value == LONG);
    OK(LAPI_Qenv(hndl, BUF_CP_SIZE, &value));
    CHECK(value == LONG);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &silent, 0));
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt), **silences = exchange(&silent);
    void **processes = exchange((void *)(intptr_t)getpid());
    if (me == 0) {
        wait_for_silence(processes[1]);
        /* One that is too long, one or two that fit, one more than there are buffers. */
        for (int i = 0; i < (shm ? 2 : 4); i++) {
            memset(data[i], 'a' + i, sizeof data[i]);
            lapi_am_t am = {LAPI_AM_XFER, 0, 1, (lapi_long_t)(uintptr_t)headers[1], 0, NULL, data[i], i == 0 ? LONG + 8 : LONG, freed, data[i], (lapi_long_t)(uintptr_t)counters[1], NULL, NULL};
            OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&am));
            CHECK(sent == (i < 3 ? i : 2));
        }
        wake(processes[1]);
        while (sent < (shm ? 2 : 4))
            OK(LAPI_Probe(hndl));
    } else {
        be_silent(0, silences[0]);
        OK(LAPI_Waitcntr(hndl, &tgt, shm ? 2 : 4, NULL));
        /* All went to one place; none is mixed with what its buffer was filled with afterwards. */
        for (int i = 0; i < LONG; i++)
            CHECK(box[i] >= 'a' && box[i] <= 'd');
        CHECK(arrived == (shm ? 2 : 4));
    }
    finish();
    return 0;
}
