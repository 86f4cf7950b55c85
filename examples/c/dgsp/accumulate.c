/*
 * Remote accumulation: records of two kinds of numbers are added up where they arrive. CONTROL instructions tell the DDM
 * function what it has before it; the sender's atom size keeps each record in one packet.
 */
#include "dgsp.h"

#define RECORDS 1000

struct record {
    int hits, padding;
    double weight;
};

enum { INTEGER = 1, REAL = 2, ADD = 0 };
enum { ATOM = sizeof(int) + sizeof(double) };

static struct record mine[RECORDS], sums[RECORDS];
static lapi_dg_handle_t accumulate;

static long add(void *in, void *inout, long bytes, int operand, int operation)
{
    (void)operation;
    if (operand == INTEGER) {
        for (long i = 0; i < bytes / (long)sizeof(int); i++)
            ((int *)inout)[i] += ((int *)in)[i];
    } else {
        for (long i = 0; i < bytes / (long)sizeof(double); i++)
            ((double *)inout)[i] += ((double *)in)[i];
    }
    return bytes; /* All of it is done. */
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    *done = NULL;
    ((lapi_return_info_t *)msg_len)->dgsp_handle = accumulate;
    return sums;
}

/* The two fields of a record; under CONTROL where they are to be added. */
static lapi_dg_handle_t fields(int adding)
{
    int code[2 * LAPI_DGSM_CONTROL_SIZE + 2 * LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE], ic = 0;
    const int operands[2] = {INTEGER, REAL};
    const long offsets[2] = {0, 2 * sizeof(int)}, sizes[2] = {sizeof(int), sizeof(double)};
    for (int i = 0; i < 2; i++) {
        if (adding) {
            lapi_dgsm_control_t *control = (lapi_dgsm_control_t *)&code[ic];
            control->opcode = LAPI_DGSM_CONTROL;
            control->operation = ADD;
            control->operand = operands[i];
            ic += LAPI_DGSM_CONTROL_SIZE;
        }
        lapi_dgsm_copy_t *copy = (lapi_dgsm_copy_t *)&code[ic];
        copy->opcode = LAPI_DGSM_COPY;
        copy->bytes = sizes[i];
        copy->offset = offsets[i];
        ic += LAPI_DGSM_COPY_SIZE;
    }
    lapi_dgsm_iterate_t *iterate = (lapi_dgsm_iterate_t *)&code[ic];
    iterate->opcode = LAPI_DGSM_ITERATE;
    iterate->iter_loc = -ic;
    ic += LAPI_DGSM_ITERATE_SIZE;
    lapi_dgsp_descr_t descr = describe(code, ic, 1, ATOM, sizeof(struct record), sizeof(struct record));
    descr.atom_size = adding ? 0 : ATOM;
    return register_dgsp(&descr);
}

int main(void)
{
    lapi_cntr_t done;
    lapi_reg_ddm_t ddm;
    begin_sample();
    memset(&ddm, 0, sizeof ddm);
    ddm.Util_type = LAPI_REG_DDM_FUNC;
    ddm.ddm_func = (ddm_func_t *)add;
    MUST(LAPI_Util(hndl, (lapi_util_t *)&ddm));
    lapi_dg_handle_t gather = fields(0);
    accumulate = fields(1);
    for (int i = 0; i < RECORDS; i++) {
        mine[i].hits = task + i;
        mine[i].weight = (task + 1) * 0.25;
        sums[i].hits = 100;
        sums[i].weight = 0.5;
    }
    MUST(LAPI_Setcntr(hndl, &done, 0));
    void **headers = addresses_of((void *)header);
    MUST(LAPI_Gfence(hndl));
    for (int to = 0; to < tasks; to++)
        send_dgsp(to, headers[to], gather, mine, RECORDS * ATOM, NULL, 0, &done);
    MUST(LAPI_Waitcntr(hndl, &done, tasks, NULL));
    MUST(LAPI_Gfence(hndl));
    long hits = 0;
    double weight = 0;
    for (int i = 0; i < RECORDS; i++) {
        hits += sums[i].hits;
        weight += sums[i].weight;
    }
    printf("task %d: record 7 has %d hits of weight %g; all have %ld hits of weight %g\n", task, sums[7].hits,
        sums[7].weight, hits, weight);
    unreserve_dgsp(gather);
    unreserve_dgsp(accumulate);
    end_sample();
    return 0;
}
