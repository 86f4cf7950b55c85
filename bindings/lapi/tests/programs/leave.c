/*
 * Tasks leave at different times and in different ways, with data of theirs still on its way. Nobody hangs, nothing is lost.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Term, terminates a context
//= type=test
#include "check.h"

#define MANY 300000
static char box[8][MANY], data[MANY];
static lapi_cntr_t tgt, org;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    *done = NULL;
    return box[4 + ((lapi_return_info_t *)msg_len)->src];
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    void **boxes = exchange(box), **counters = exchange(&tgt), **headers = exchange((void *)header);
    memset(data, 'a' + me, sizeof data);
    /* Everybody sends to the last task and goes: the higher the number, the later; odd ones without LAPI_Term. */
    int last = tasks - 1;
    if (me != last) {
        usleep(30000 * me);
        for (int i = 0; i < 20; i++)
            OK(LAPI_Put(hndl, last, 100, (char *)boxes[last] + (size_t)me * MANY + 100 * i, data, counters[last], &org, NULL));
        OK(LAPI_Amsend(hndl, last, headers[last], NULL, 0, data, MANY, counters[last], &org, NULL));
        /* Until the buffers are free and no longer: what was sent is on its way. */
        OK(LAPI_Waitcntr(hndl, &org, 21, NULL));
        if (me % 2 == 0)
            OK(LAPI_Term(hndl));
        return 0;
    }
    usleep(50000);
    OK(LAPI_Waitcntr(hndl, &tgt, 21 * last, NULL));
    for (int i = 0; i < last; i++) {
        CHECK(box[i][0] == 'a' + i && box[i][1999] == 'a' + i && box[i][2000] == 0);
        CHECK(box[4 + i][0] == 'a' + i && box[4 + i][MANY - 1] == 'a' + i);
    }
    OK(LAPI_Fence(hndl));
    OK(LAPI_Term(hndl));
    return 0;
}
