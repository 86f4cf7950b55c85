/*
 * Active messages, puts and gets of all sizes around a ring; atomics; thousands of operations outstanding.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Amsend, transfers a user message to a task
//= LAPI Guide, LAPI_Put, transfers data to a task
//= LAPI Guide, LAPI_Get, copies data from a task
//= LAPI Guide, LAPI_Fence, waits for the data of all operations
//= LAPI Guide, LAPI_Gfence, fences and synchronizes all tasks
//= LAPI Guide, LAPI_Waitcntr, waits for a counter and subtracts the value waited for
//= type=test
#include "check.h"

#define LONGS 150000

static long box[LONGS], data[LONGS];
static lapi_cntr_t tgt, org, cmpl;
static volatile int handled;

static void completion(lapi_handle_t *h, void *argument)
{
    CHECK(*h == hndl);
    CHECK(argument == box);
    handled++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapi_return_info_t *more = (lapi_return_info_t *)msg_len;
    CHECK(*h == hndl);
    CHECK(*uhdr_len == 0 || (*uhdr_len == 8 && strcmp(uhdr, "header!") == 0));
    CHECK(more->msg_len == *msg_len);
    CHECK(more->src == (me + tasks - 1) % tasks);
    *done = completion;
    *info = box;
    return box;
}

static void expect(long from, ulong len, long round)
{
    for (ulong i = 0; i < len / sizeof(long); i++)
        CHECK(box[i] == from * 1000003 + round * 1009 + (long)i);
}

static void fill(long *where, ulong len, long round)
{
    for (ulong i = 0; i < len / sizeof(long); i++)
        where[i] = me * 1000003L + round * 1009 + (long)i;
}

static void counted(int origin, int completion, int target)
{
    int left = -1;
    if (origin) {
        OK(LAPI_Waitcntr(hndl, &org, 1, &left));
        CHECK(left == 0);
    }
    if (completion) {
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, &left));
        CHECK(left == 0);
    }
    if (target) {
        OK(LAPI_Waitcntr(hndl, &tgt, 1, &left));
        CHECK(left == 0);
    }
}

int main(void)
{
    static const ulong sizes[] = {0, 8, 64, 1000, 4096, 16320, 16384, 70000, 300000, LONGS * sizeof(long)};
    start();
    int to = (me + 1) % tasks, from = (me + tasks - 1) % tasks;
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **headers = exchange((void *)header), **boxes = exchange(box), **counters = exchange(&tgt);

    for (size_t round = 0; round < sizeof sizes / sizeof *sizes; round++) {
        ulong len = sizes[round] / sizeof(long) * sizeof(long);
        fill(data, len, round);
        for (int with_header = 0; with_header < 2; with_header++) {
            memset(box, 0xff, sizeof box);
            OK(LAPI_Gfence(hndl));
            OK(LAPI_Amsend(hndl, to, headers[to], with_header ? "header!" : NULL, with_header ? 8 : 0,
                           len ? data : NULL, len, counters[to], &org, &cmpl));
            counted(1, 1, 1);
            expect(from, len, round);
            OK(LAPI_Gfence(hndl));
        }
        memset(box, 0xff, sizeof box);
        OK(LAPI_Gfence(hndl));
        OK(LAPI_Put(hndl, to, len, len ? boxes[to] : NULL, len ? data : NULL, counters[to], &org, &cmpl));
        counted(1, 1, 1);
        expect(from, len, round);

        OK(LAPI_Gfence(hndl));
        fill(box, len, round);
        memset(data, 0xff, sizeof data);
        OK(LAPI_Gfence(hndl));
        OK(LAPI_Get(hndl, to, len, len ? boxes[to] : NULL, len ? data : NULL, counters[to], &org));
        counted(1, 0, 1);
        OK(LAPI_Gfence(hndl));
        memcpy(box, data, len);
        expect(to, len, round);
        OK(LAPI_Gfence(hndl));
    }
    CHECK(handled == 2 * (int)(sizeof sizes / sizeof *sizes));

    /* Nothing but the fence says that it is there. */
    for (int i = 0; i < 5000; i++) {
        data[i] = i + me;
        OK(LAPI_Put(hndl, to, sizeof(long), (long *)boxes[to] + i, data + i, NULL, NULL, NULL));
    }
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < 5000; i++)
        CHECK(box[i] == i + from);

    /* Thousands outstanding, with counters for all of them. */
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < 20000; i++)
        OK(LAPI_Put(hndl, to, sizeof(long), (long *)boxes[to] + i, data + i, counters[to], &org, &cmpl));
    int left;
    OK(LAPI_Waitcntr(hndl, &org, 20000, &left));
    CHECK(left == 0);
    OK(LAPI_Waitcntr(hndl, &cmpl, 20000, &left));
    CHECK(left == 0);
    OK(LAPI_Waitcntr(hndl, &tgt, 20000, NULL));
    CHECK(value_of(&tgt) == 0);

    /* To itself, too. */
    memset(box, 0, 80);
    OK(LAPI_Gfence(hndl));
    long mine[10];
    fill(mine, sizeof mine, 77);
    OK(LAPI_Put(hndl, me, sizeof mine, box, mine, &tgt, &org, &cmpl));
    counted(1, 1, 1);
    expect(me, sizeof mine, 77);
    finish();
    return 0;
}
