/*
 * Far more tasks than cores: they start, everybody sends to everybody, and they end.
 * tasks: 64
 */
//= LAPI Guide, LAPI_Init, initializes a context
//= LAPI Guide, LAPI_Address_init, exchanges addresses
//= type=test
#include "check.h"
#include <time.h>

static int got[64], mine[64];
static lapi_cntr_t tgt, cmpl;
static int sum;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr_len, (void)msg_len, (void)info;
    sum += *(int *)uhdr;
    *done = NULL;
    return NULL;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

int main(void)
{
    double began = now();
    start();
    double ready = now();
    CHECK(tasks <= 64);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(got), **counters = exchange(&tgt), **headers = exchange((void *)header);
    CHECK(boxes[me] == (void *)got && headers[me] == (void *)header);
    for (int i = 0; i < tasks; i++) {
        int to = (me + i) % tasks;
        mine[to] = 1000 * me + to;
        OK(LAPI_Put(hndl, to, sizeof(int), (int *)boxes[to] + me, &mine[to], counters[to], NULL, &cmpl));
        OK(LAPI_Amsend(hndl, to, headers[to], &me, sizeof me, NULL, 0, counters[to], NULL, &cmpl));
    }
    OK(LAPI_Waitcntr(hndl, &cmpl, 2 * tasks, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 2 * tasks, NULL));
    for (int i = 0; i < tasks; i++)
        CHECK(got[i] == 1000 * i + me);
    CHECK(sum == tasks * (tasks - 1) / 2);
    OK(LAPI_Gfence(hndl));
    double exchanged = now();
    OK(LAPI_Term(hndl));
    if (me == 0)
        printf("%d tasks: %.2f s to start, %.2f s to exchange, %.2f s to end\n", tasks, ready - began, exchanged - ready, now() - exchanged);
    return 0;
}
