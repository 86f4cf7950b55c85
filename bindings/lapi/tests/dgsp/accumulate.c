/*
 * CONTROL: remote accumulation of records of several operand types. Packets hold whole records, whatever way they come.
 * tasks: 3
 */
//= LAPI Guide, LAPI_Util, LAPI_REG_DDM_FUNC
//= LAPI Guide, Using data gather/scatter programs (DGSPs), CONTROL
//= type=test
#include "program.h"
#include <stddef.h>

struct record {
    char name[3];
    int count;
    double sum;
    short largest;
    char tail;
};

/* The packed record: 3 + 4 + 8 + 2 bytes. */
enum { ATOM = 17, RECORDS = 20000, INT = 11, DOUBLE, SHORT, ADD = 0, MAX = 5 };

static struct record mine[RECORDS], sums[RECORDS];
static struct program p;
static lapi_cntr_t tgt, cmpl;
static lapi_dg_handle_t scatter;
static lapi_thread_func_t lock;
static int calls[3], others;

static long combine(void *in, void *inout, long bytes, int operand, int operation)
{
    /* It may call LAPI, as a header handler may. */
    static unsigned probes;
    int value;
    if (probes++ % 100 == 0) {
        OK(LAPI_Getcntr(hndl, &cmpl, &value));
        GIVES(0, lock.mutex_lock(hndl));
        GIVES(0, lock.mutex_unlock(hndl));
    }
    /* A compiler may take pointers for aligned: they are. */
    CHECK(bytes > 0);
    if (operand == INT) {
        CHECK(bytes % 4 == 0 && (uintptr_t)in % 4 == 0 && operation == ADD);
        for (int i = 0; i < bytes / 4; i++)
            ((int *)inout)[i] += ((int *)in)[i];
        calls[0]++;
    } else if (operand == DOUBLE) {
        CHECK(bytes % 8 == 0 && (uintptr_t)in % 8 == 0 && operation == ADD);
        *(double *)inout += *(double *)in;
        calls[1]++;
        return 8;
    } else if (operand == SHORT) {
        CHECK(bytes == 2 && operation == MAX);
        short *old = inout, *new = in;
        if (*new > *old)
            *old = *new;
        calls[2]++;
    } else {
        others++;
    }
    return bytes;
}

static long never(void *in, void *inout, long bytes, int operand, int operation)
{
    (void)in, (void)inout, (void)operand, (void)operation;
    others++;
    return bytes;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **argument)
{
    lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
    (void)h, (void)uhdr, (void)argument;
    CHECK(*uhdr_len == 0);
    *done = NULL;
    info->dgsp_handle = scatter;
    return sums;
}

/* The record's fields in memory, one after the other; under CONTROL where asked. */
static lapi_dg_handle_t fields(int controlled)
{
    describe(&p, ATOM, sizeof(struct record), 0, sizeof(struct record));
    p.descr.atom_size = controlled ? 0 : ATOM;
    copy(&p, 0, 3);
    if (controlled)
        control(&p, ADD, INT);
    copy(&p, offsetof(struct record, count), 4);
    if (controlled)
        control(&p, ADD, DOUBLE);
    copy(&p, offsetof(struct record, sum), 8);
    if (controlled)
        control(&p, MAX, SHORT);
    copy(&p, offsetof(struct record, largest), 2);
    if (controlled)
        control(&p, LAPI_DGSM_NO_CTL, 0);
    iterate(&p, 0);
    return registered(&p);
}

static void fill(struct record *r, int task, int i)
{
    memcpy(r->name, "abc", 3);
    r->count = task * 1000 + i;
    r->sum = task * 0.5 + i;
    r->largest = (short)((i * (task + 3)) % 1000);
    r->tail = 'x';
}

int main(void)
{
    setenv("LAPI_VERIFY_DGSP", "yes", 1);
    start();
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **counters = exchange(&tgt), **handlers = exchange((void *)header);
    lapi_dg_handle_t gather = fields(0);
    scatter = fields(1);
    ddm((ddm_func_t *)never);
    ddm((ddm_func_t *)combine); /* The last one counts. */
    for (int i = 0; i < RECORDS; i++)
        fill(&mine[i], me, i);
    int rounds[] = {1, 7, RECORDS};
    for (int round = 0; round < 3; round++) {
        int n = rounds[round];
        memset(sums, 0, sizeof sums);
        OK(LAPI_Gfence(hndl));
        for (int to = 0; to < tasks; to++) {
            lapi_amdgsp_t c = {.Xfer_type = LAPI_DGSP_XFER, .tgt = to, .hdr_hdl = (lapi_long_t)(uintptr_t)handlers[to],
                .udata = mine, .udata_len = (ulong)n * ATOM, .tgt_cntr = (lapi_long_t)(uintptr_t)counters[to],
                .cmpl_cntr = &cmpl, .dgsp = gather};
            OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
        }
        OK(LAPI_Waitcntr(hndl, &cmpl, tasks, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, tasks, NULL));
        for (int i = 0; i < RECORDS; i++) {
            struct record all, one;
            memset(&all, 0, sizeof all);
            for (int from = 0; from < tasks && i < n; from++) {
                fill(&one, from, i);
                memcpy(all.name, one.name, 3);
                all.count += one.count;
                all.sum += one.sum;
                all.largest = one.largest > all.largest ? one.largest : all.largest;
            }
            CHECK(memcmp(sums[i].name, all.name, 3) == 0 && sums[i].count == all.count);
            CHECK(sums[i].sum == all.sum && sums[i].largest == all.largest && sums[i].tail == 0);
        }
        OK(LAPI_Gfence(hndl));
    }
    CHECK(others == 0 && calls[0] >= tasks * RECORDS && calls[1] >= tasks * RECORDS && calls[2] >= tasks * RECORDS);

    /* Unpacking goes through the function, too. */
    static char packed[ATOM * 5];
    ulong position = 0;
    OK(pack(gather, mine, sizeof packed, packed, sizeof packed, &position));
    memset(sums, 0, sizeof sums);
    for (int round = 1; round <= 3; round++) {
        int hold = round == 2;
        position = 0;
        if (hold)
            GIVES(0, lock.mutex_lock(hndl));
        OK(unpack(scatter, packed, sizeof packed, sums, sizeof packed, sizeof sums, &position));
        if (hold)
            GIVES(0, lock.mutex_unlock(hndl));
        for (int i = 0; i < 5; i++)
            CHECK(sums[i].count == round * mine[i].count && sums[i].sum == round * mine[i].sum);
    }
    /* A DDM function is a context's; none is none. */
    ddm(NULL);
    position = 0;
    GIVES(LAPI_ERR_DGSP_CTL, unpack(scatter, packed, sizeof packed, sums, sizeof packed, sizeof sums, &position));
    OK(unreserve(hndl, gather));
    OK(unreserve(hndl, scatter));
    finish();
    return 0;
}
