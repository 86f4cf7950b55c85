/* What the DGSP samples share: registering, giving up, and the header handler's way to ask for a DGSP. */
#ifndef DGSP_H
#define DGSP_H

#include "../sample.h"

/* A description of a program whose template moves `size` bytes between offsets 0 and `rext` and then moves on by `extent`. */
static inline lapi_dgsp_descr_t describe(int *code, int words, int depth, long size, long extent, long rext)
{
    lapi_dgsp_descr_t d;
    d.code = code;
    d.code_size = words;
    d.depth = depth;
    d.density = LAPI_DGSM_SPARSE;
    d.size = size;
    d.extent = extent;
    d.lext = 0;
    d.rext = rext;
    d.atom_size = 0;
    return d;
}

/* LAPI makes a copy: the code may go afterwards. */
static inline lapi_dg_handle_t register_dgsp(lapi_dgsp_descr_t *d)
{
    lapi_reg_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_REGISTER_DGSP;
    command.idgsp = d;
    MUST(LAPI_Util(hndl, (lapi_util_t *)&command));
    return command.dgsp_handle;
}

/* Operations under way keep what they need. */
static inline void unreserve_dgsp(lapi_dg_handle_t handle)
{
    lapi_dref_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_UNRESERVE_DGSP;
    command.dgsp_handle = handle;
    MUST(LAPI_Util(hndl, (lapi_util_t *)&command));
}

/* Blocks of `block` bytes, `stride` apart, `count` of them: one template, which moves on by `extent`. */
static inline lapi_dg_handle_t strided_dgsp(long count, long block, long stride, long extent)
{
    int code[LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_COPY_SIZE + 2 * LAPI_DGSM_ITERATE_SIZE], ic = 0;
    lapi_dgsm_gosub_t *gosub = (lapi_dgsm_gosub_t *)&code[ic];
    gosub->opcode = LAPI_DGSM_GOSUB;
    gosub->to_loc = LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_ITERATE_SIZE;
    gosub->ret_loc = LAPI_DGSM_GOSUB_SIZE;
    gosub->reps = count;
    gosub->offset = 0;
    gosub->stride = stride;
    ic += LAPI_DGSM_GOSUB_SIZE;
    lapi_dgsm_iterate_t *end = (lapi_dgsm_iterate_t *)&code[ic];
    end->opcode = LAPI_DGSM_ITERATE;
    end->iter_loc = -ic;
    ic += LAPI_DGSM_ITERATE_SIZE;
    int routine = ic;
    lapi_dgsm_copy_t *copy = (lapi_dgsm_copy_t *)&code[ic];
    copy->opcode = LAPI_DGSM_COPY;
    copy->bytes = block;
    copy->offset = 0;
    ic += LAPI_DGSM_COPY_SIZE;
    end = (lapi_dgsm_iterate_t *)&code[ic];
    end->opcode = LAPI_DGSM_ITERATE;
    end->iter_loc = routine - ic;
    ic += LAPI_DGSM_ITERATE_SIZE;
    lapi_dgsp_descr_t d = describe(code, ic, 2, count * block, extent, (count - 1) * stride + block);
    return register_dgsp(&d);
}

/* An active message whose data `dgsp` gathers from `data`. */
static inline void send_dgsp(int to, void *handler, lapi_dg_handle_t dgsp, void *data, ulong len, void *uhdr, uint uhdr_len,
    lapi_cntr_t *done)
{
    lapi_amdgsp_t am;
    memset(&am, 0, sizeof am);
    am.Xfer_type = LAPI_DGSP_XFER;
    am.tgt = to;
    am.hdr_hdl = (lapi_long_t)(size_t)handler;
    am.uhdr = uhdr;
    am.uhdr_len = uhdr_len;
    am.udata = data;
    am.udata_len = len;
    am.cmpl_cntr = done;
    am.dgsp = dgsp;
    MUST(LAPI_Xfer(hndl, (lapi_xfer_t *)&am));
}

#endif
