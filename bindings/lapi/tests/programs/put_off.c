/*
 * Messages that are put off, because their handler is not registered yet or does not want them yet, are handled although their
 * origin has ended meanwhile.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Amsend, use of LAPI_Addr_set
//= type=test
//= LAPI Guide, The enhanced header handler interface, LAPI_DROP_PKT
//= type=test
#include "check.h"

#define LONG 300000

static char first[100], second[LONG], data[LONG];
static volatile int wanted, refused;
static lapi_cntr_t tgt, org;

static void *late(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return first;
}

static void *reluctant(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    *done = NULL;
    if (wanted)
        return second;
    refused++;
    ((lapi_return_info_t *)msg_len)->ctl_flags = LAPI_DROP_PKT;
    return NULL;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    void **counters = exchange(&tgt);
    if (me == 1)
        OK(LAPI_Addr_set(hndl, (void *)reluctant, 2));
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        memset(data, 'd', LONG);
        OK(LAPI_Amsend(hndl, 1, (void *)1, NULL, 0, data, sizeof first, counters[1], &org, NULL));
        OK(LAPI_Amsend(hndl, 1, (void *)2, NULL, 0, data, LONG, counters[1], &org, NULL));
        OK(LAPI_Waitcntr(hndl, &org, 2, NULL));
    } else {
        while (!refused) {
            usleep(1000);
            OK(LAPI_Probe(hndl));
        }
        /* Interrupts are on: everything arrives meanwhile, the other task's farewell, too. */
        usleep(400000);
        wanted = 1;
        OK(LAPI_Addr_set(hndl, (void *)late, 1));
        OK(LAPI_Waitcntr(hndl, &tgt, 2, NULL));
        CHECK(first[0] == 'd' && first[sizeof first - 1] == 'd' && second[0] == 'd' && second[LONG - 1] == 'd');
    }
    OK(LAPI_Term(hndl));
    return 0;
}
