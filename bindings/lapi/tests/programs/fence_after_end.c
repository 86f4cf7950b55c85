/*
 * A fence does not fail for a task that has ended in good order after it had done all that it was sent.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Fence, waits for all operations of this task
//= type=test
#include "check.h"

static char box[100], data[100];
static lapi_cntr_t tgt, cmpl;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return box;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **counters = exchange(&tgt), **headers = exchange((void *)header);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        OK(LAPI_Amsend(hndl, 1, headers[1], NULL, 0, data, sizeof data, counters[1], NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        /* Long enough for the other task's farewell. If it is later, the fence is answered. */
        for (int i = 0; i < 200; i++) {
            usleep(1000);
            OK(LAPI_Probe(hndl));
        }
        OK(LAPI_Fence(hndl));
        OK(LAPI_Fence(hndl));
    } else {
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    }
    OK(LAPI_Term(hndl));
    return 0;
}
