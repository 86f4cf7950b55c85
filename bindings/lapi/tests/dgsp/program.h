/* Writes data gather/scatter programs. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../programs/check.h"

struct program {
    int code[8192];
    lapi_dgsp_descr_t descr;
};

/* An empty program: the caller knows size and bounds. */
static inline void describe(struct program *p, long size, long extent, long lext, long rext)
{
    memset(p, 0, sizeof *p);
    p->descr.code = p->code;
    p->descr.depth = 1;
    p->descr.density = LAPI_DGSM_SPARSE;
    p->descr.size = size;
    p->descr.extent = extent;
    p->descr.lext = lext;
    p->descr.rext = rext;
}

static inline int *emit(struct program *p, int words)
{
    int *at = p->code + p->descr.code_size;
    p->descr.code_size += words;
    CHECK(p->descr.code_size <= (int)(sizeof p->code / sizeof *p->code));
    return at;
}

static inline lapi_dgsm_copy_t *copy(struct program *p, long offset, long bytes)
{
    lapi_dgsm_copy_t *c = (lapi_dgsm_copy_t *)emit(p, LAPI_DGSM_COPY_SIZE);
    c->opcode = LAPI_DGSM_COPY;
    c->bytes = bytes;
    c->offset = offset;
    return c;
}

/* The blocks are the caller's to fill in. */
static inline lapi_dgsm_block_t *mcopy(struct program *p, int count)
{
    int words = LAPI_DGSM_MCOPY_SIZE + (count - 1) * LAPI_DGSM_MCOPY_BLOCK_SIZE;
    lapi_dgsm_mcopy_t *m = (lapi_dgsm_mcopy_t *)emit(p, words);
    m->opcode = LAPI_DGSM_MCOPY;
    m->count = count;
    return m->block;
}

/* Where the subroutine is, the caller says later. */
static inline lapi_dgsm_gosub_t *gosub(struct program *p, long reps, long offset, long stride)
{
    lapi_dgsm_gosub_t *g = (lapi_dgsm_gosub_t *)emit(p, LAPI_DGSM_GOSUB_SIZE);
    g->opcode = LAPI_DGSM_GOSUB;
    g->ret_loc = LAPI_DGSM_GOSUB_SIZE;
    g->reps = reps;
    g->offset = offset;
    g->stride = stride;
    return g;
}

static inline void routine_of(struct program *p, lapi_dgsm_gosub_t *g)
{
    g->to_loc = p->descr.code_size - (int)((int *)g - p->code);
}

static inline lapi_dgsm_control_t *control(struct program *p, int operation, int operand)
{
    lapi_dgsm_control_t *c = (lapi_dgsm_control_t *)emit(p, LAPI_DGSM_CONTROL_SIZE);
    c->opcode = LAPI_DGSM_CONTROL;
    c->operation = operation;
    c->operand = operand;
    return c;
}

/* Ends the routine that begins at a word. */
static inline lapi_dgsm_iterate_t *iterate(struct program *p, int start)
{
    int here = p->descr.code_size;
    lapi_dgsm_iterate_t *i = (lapi_dgsm_iterate_t *)emit(p, LAPI_DGSM_ITERATE_SIZE);
    i->opcode = LAPI_DGSM_ITERATE;
    i->iter_loc = start - here;
    return i;
}

static inline int registration(lapi_handle_t with, struct program *p, lapi_dg_handle_t *handle)
{
    lapi_reg_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_REGISTER_DGSP;
    command.idgsp = &p->descr;
    int code = LAPI_Util(with, (lapi_util_t *)&command);
    *handle = command.dgsp_handle;
    return code;
}

static inline lapi_dg_handle_t registered(struct program *p)
{
    lapi_dg_handle_t handle;
    OK(registration(hndl, p, &handle));
    CHECK(handle != NULL);
    /* LAPI has its own copy. */
    memset(p, 0xee, sizeof *p);
    return handle;
}

static inline int reserve(lapi_handle_t with, lapi_dg_handle_t handle)
{
    lapi_resv_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_RESERVE_DGSP;
    command.dgsp_handle = handle;
    return LAPI_Util(with, (lapi_util_t *)&command);
}

static inline int unreserve(lapi_handle_t with, lapi_dg_handle_t handle)
{
    lapi_dref_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_UNRESERVE_DGSP;
    command.dgsp_handle = handle;
    return LAPI_Util(with, (lapi_util_t *)&command);
}

static inline int pack(lapi_dg_handle_t handle, void *from, ulong bytes, void *to, ulong size, ulong *position)
{
    lapi_pack_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_DGSP_PACK;
    command.dgsp_handle = handle;
    command.in_buf = from;
    command.bytes = bytes;
    command.out_buf = to;
    command.out_size = size;
    command.position = *position;
    int code = LAPI_Util(hndl, (lapi_util_t *)&command);
    *position = command.position;
    return code;
}

static inline int unpack(lapi_dg_handle_t handle, void *from, ulong size, void *to, ulong bytes, ulong out_size, ulong *position)
{
    lapi_unpack_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_DGSP_UNPACK;
    command.dgsp_handle = handle;
    command.buf = from;
    command.in_size = size;
    command.out_buf = to;
    command.bytes = bytes;
    command.out_size = out_size;
    command.position = *position;
    int code = LAPI_Util(hndl, (lapi_util_t *)&command);
    *position = command.position;
    return code;
}

static inline void ddm(ddm_func_t *function)
{
    lapi_reg_ddm_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_REG_DDM_FUNC;
    command.ddm_func = function;
    OK(LAPI_Util(hndl, (lapi_util_t *)&command));
}

#endif
