/*
 * Tasks that agree on the indices of their header handlers need no other agreement: a message that arrives before its handler is
 * registered waits for it.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Amsend, use of LAPI_Addr_set
//= type=test
#include "check.h"

#define LONG 300000

static char box[LONG], data[LONG];
static volatile int single;
static lapi_cntr_t cmpl;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)info, (void)msg_len;
    CHECK(*uhdr_len == 8 && memcmp(uhdr, "user hdr", 8) == 0);
    *done = NULL;
    single++;
    return box;
}

static lapi_vec_t *vector(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[], compl_hndlr_t **done, void **info)
{
    static void *places[1] = {box};
    static ulong lens[1] = {100};
    static lapi_vec_t target = {LAPI_GEN_IOVECTOR, 1, places, lens};
    (void)h, (void)uhdr, (void)uhdr_len, (void)len_vec, (void)info;
    *done = NULL;
    return &target;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        void *places[1] = {data};
        ulong lens[1] = {100};
        lapi_vec_t origin = {LAPI_GEN_IOVECTOR, 1, places, lens};
        memset(data, 'd', LONG);
        OK(LAPI_Amsend(hndl, 1, (void *)1, "user hdr", 8, data, 8, NULL, NULL, &cmpl));
        OK(LAPI_Amsend(hndl, 1, (void *)1, "user hdr", 8, data, LONG, NULL, NULL, &cmpl));
        OK(LAPI_Amsendv(hndl, 1, (void *)2, NULL, 0, &origin, NULL, NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 3, NULL));
    } else {
        /* Interrupts are on: everything arrives meanwhile. */
        usleep(300000);
        OK(LAPI_Addr_set(hndl, (void *)vector, 2));
        OK(LAPI_Addr_set(hndl, (void *)header, 1));
    }
    OK(LAPI_Gfence(hndl));
    CHECK(me == 0 || (single == 2 && box[0] == 'd' && box[LONG - 1] == 'd'));
    OK(LAPI_Term(hndl));
    return 0;
}
