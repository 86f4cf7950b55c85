/*
 * Header handlers of vector messages that take their fourth argument for a lapi_return_info_t, as other header handlers do: where the
 * completion handler runs, messages that are buried or dropped. The first word of the structure leads to the lengths.
 * tasks: 2
 */
//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
//= LAPI Guide, LAPI_Amsendv, the header handler returns a vector
//= type=test
#include "check.h"
#include <pthread.h>

static lapi_cntr_t tgt, cmpl;
static char here[2][40], there[2][40];
static void *from[2] = {here[0], here[1]}, *to[2] = {there[0], there[1]};
static ulong lens[2] = {40, 24};
static lapi_vec_t source = {LAPI_GEN_IOVECTOR, 2, from, lens}, target = {LAPI_GEN_IOVECTOR, 2, to, lens};
static volatile int handled, drops;
static pthread_t received, completed;

static void done(lapi_handle_t *h, void *argument)
{
    (void)h;
    CHECK(argument == &tgt);
    completed = pthread_self();
    handled++;
}

static lapi_vec_t *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **completion, void **info)
{
    lapi_return_info_t *back = (lapi_return_info_t *)len_vec;
    volatile char guard[64];
    memset((char *)guard, 0x5a, sizeof guard);
    (void)h;
    CHECK(*uhdr_len == 8);
    CHECK((*len_vec)[0] == 40 && (*len_vec)[1] == 24);
    CHECK(back->msg_len == (ulong)(uintptr_t)*len_vec && back->MAGIC != 0);
    CHECK(back->ret_flags == LAPI_NORMAL && back->ctl_flags == LAPI_DELIVER_MSG && back->dgsp_handle == NULL);
    CHECK(back->bytes == 64 && back->src == 1 - me);
    /* A short message is one packet: the data of both pieces, one behind the other. */
    CHECK(back->udata_one_pkt_ptr == NULL || memcmp(back->udata_one_pkt_ptr, uhdr, 8) == 0);
    received = pthread_self();
    *completion = done;
    *info = &tgt;
    switch (((char *)uhdr)[0]) {
    case 'i':
        back->ret_flags = LAPI_LOCAL_STATE;
        break;
    case 'r':
        back->ret_flags = LAPI_SEND_REPLY;
        break;
    case 'b':
        back->ctl_flags = LAPI_BURY_MSG;
        break;
    case 'd':
        if (drops++ < 3) {
            back->ctl_flags = LAPI_DROP_PKT;
            *completion = NULL;
        }
        break;
    }
    for (uint i = 0; i < sizeof guard; i++)
        CHECK(guard[i] == 0x5a);
    return &target;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt);
    int other = 1 - me;
    static const char kinds[] = "nirbdi";
    for (const char *kind = kinds; *kind; kind++) {
        memset(here, *kind, sizeof here);
        memset(there, 0, sizeof there);
        handled = drops = 0;
        OK(LAPI_Gfence(hndl));
        if (me == 0) {
            OK(LAPI_Amsendv(hndl, other, headers[other], here, 8, &source, counters[other], NULL, &cmpl));
            OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        } else {
            OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
            CHECK(handled == 1 && drops == (*kind == 'd' ? 4 : 0));
            char expected = *kind == 'b' ? 0 : *kind;
            CHECK(there[0][0] == expected && there[0][39] == expected && there[1][23] == expected && there[1][24] == 0);
            if (*kind == 'i')
                CHECK(pthread_equal(received, completed));
            if (*kind == 'n')
                CHECK(!pthread_equal(received, completed));
        }
        OK(LAPI_Gfence(hndl));
    }
    finish();
    return 0;
}
