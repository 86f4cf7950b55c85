/*
 * A million puts without waiting stay in bounded memory.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Put, transfers data to a task
//= type=test
#include "check.h"
#include <sys/resource.h>

static long box[8], one = 1;
static lapi_cntr_t tgt, cmpl;

static long peak_kilobytes(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(box);
    int to = (me + 1) % tasks;
    for (int i = 0; i < 1000; i++)
        OK(LAPI_Put(hndl, to, sizeof one, boxes[to], &one, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1000, NULL));
    long before = peak_kilobytes();
    for (int i = 0; i < 1000000; i++)
        OK(LAPI_Put(hndl, to, sizeof one, boxes[to], &one, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1000000, NULL));
    /* The task's own memory is written at once; the counter counts by message. */
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    for (int i = 0; i < 1000000; i++)
        OK(LAPI_Put(hndl, me, sizeof one, box, &one, &tgt, NULL, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1000000, NULL));
    CHECK(peak_kilobytes() - before < 64 * 1024);
    finish();
    return 0;
}
