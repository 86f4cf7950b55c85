/*
 * Faults that only the target can see: the error handler hears the guide's code, once a message, and communication goes on.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_DGSP_CTL for a CONTROL without an atom size at the gather side
//= LAPI Guide, Registering an error handler, a handler that returns lets execution continue
//= type=test
#include "program.h"

enum { LEN = 100000 };
static char from[LEN], to[LEN];
static struct program p;
static lapi_cntr_t tgt;
static lapi_dg_handle_t handle;
static void *buffer = to;
static volatile int heard, last;

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    CHECK(*h == hndl && *task == me && *type == LAPI_USER_ERROR && *source == (me + 1) % tasks);
    last = *code;
    heard++;
}

static long all(void *in, void *inout, long bytes, int operand, int operation)
{
    (void)operand, (void)operation;
    memcpy(inout, in, bytes);
    return bytes;
}

static long nothing(void *in, void *inout, long bytes, int operand, int operation)
{
    (void)in, (void)inout, (void)bytes, (void)operand, (void)operation;
    return 0;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **argument)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)argument;
    *done = NULL;
    ((lapi_return_info_t *)msg_len)->dgsp_handle = handle;
    return buffer;
}

static void **handlers, **counters;
static lapi_dg_handle_t plain, atoms;

static void expect(int code, lapi_dg_handle_t gather, ulong len)
{
    int before = heard, other = (me + 1) % tasks;
    lapi_amdgsp_t c = {.Xfer_type = LAPI_DGSP_XFER, .tgt = other, .hdr_hdl = (lapi_long_t)(uintptr_t)handlers[other],
        .udata = from, .udata_len = len, .tgt_cntr = (lapi_long_t)(uintptr_t)counters[other], .dgsp = gather};
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Gfence(hndl));
    while (code != LAPI_SUCCESS && heard == before)
        OK(LAPI_Probe(hndl));
    if (code != LAPI_SUCCESS && last != code)
        failed(__FILE__, __LINE__, text_of(code), text_of(last));
    OK(LAPI_Gfence(hndl));
    CHECK(heard == before + (code != LAPI_SUCCESS));
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    (void)argv;
    if (argc == 1)
        info.err_hndlr = (void *)on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    handlers = exchange((void *)header);
    counters = exchange(&tgt);
    describe(&p, 8, 8, 0, 8), copy(&p, 0, 8), iterate(&p, 0);
    plain = registered(&p);
    describe(&p, 8, 8, 0, 8), p.descr.atom_size = 8, copy(&p, 0, 8), iterate(&p, 0);
    atoms = registered(&p);

    ulong lens[] = {8, LEN};
    for (int i = 0; i < 2; i++) {
        handle = from; /* Not a handle. */
        expect(LAPI_ERR_DGSP, plain, lens[i]);

        describe(&p, 8, 16, 0, 8), control(&p, 1, 0), copy(&p, 0, 8), iterate(&p, 0);
        p.descr.extent = 0;
        handle = registered(&p);
        ddm(NULL);
        expect(LAPI_ERR_DGSP_CTL, atoms, lens[i]); /* No function. */
        ddm((ddm_func_t *)nothing);
        expect(LAPI_ERR_DGSP_CTL, atoms, lens[i]); /* One that takes nothing. */
        ddm((ddm_func_t *)all);
        expect(LAPI_ERR_DGSP_CTL, plain, lens[i]); /* No atoms at the origin. */
        expect(LAPI_SUCCESS, atoms, lens[i]);
        OK(unreserve(hndl, handle));

        /* Atoms at the target that the origin's packets don't fill. */
        describe(&p, 24, 0, 0, 24), p.descr.atom_size = 24, control(&p, 1, 0), copy(&p, 0, 24), iterate(&p, 0);
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_ATOM, atoms, lens[i] == 8 ? 16 : lens[i]);
        OK(unreserve(hndl, handle));

        /* Programs that nobody verified. Their faults lie in the second application. */
        describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), emit(&p, 1)[0] = 77;
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_OPC, plain, lens[i]);
        OK(unreserve(hndl, handle));
        describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), iterate(&p, 0)->iter_loc = 3;
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_BRANCH, plain, lens[i]);
        OK(unreserve(hndl, handle));
        describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), gosub(&p, 2, 0, 0), iterate(&p, 0);
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_STACK, plain, lens[i]);
        OK(unreserve(hndl, handle));
        describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), copy(&p, 4, -1), iterate(&p, 0);
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_COPY_SZ, plain, lens[i]);
        OK(unreserve(hndl, handle));
        describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), gosub(&p, -1, 0, 0), iterate(&p, 0);
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_REPS, plain, lens[i]);
        OK(unreserve(hndl, handle));
        describe(&p, 0, 8, 0, 0), iterate(&p, 0);
        handle = registered(&p);
        expect(LAPI_ERR_DGSP_OTHER, plain, lens[i]);
        OK(unreserve(hndl, handle));
    }
    handle = plain;
    expect(LAPI_SUCCESS, plain, LEN);
    finish();
    return 0;
}
