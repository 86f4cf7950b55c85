/*
 * lapis.h: what Lapis offers C programs beside LAPI. Programs that use it run with Lapis alone.
 * The manual has a page for each call.
 *
 * Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit that.
 */
#ifndef LAPIS_H
#define LAPIS_H

#include <lapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory that tasks reach directly
 */

/* Allocates zeroed memory that every task reaches as directly as the transports allow. */
int lapis_alloc(lapi_handle_t hndl, ulong len, void **addr);

/* Frees memory of lapis_alloc; NULL does nothing. */
int lapis_free(lapi_handle_t hndl, void *addr);

/* Registers memory of the program, so that tasks reach it as directly as the transports allow. */
int lapis_register(lapi_handle_t hndl, void *addr, ulong len);

/* Ends a registration of lapis_register; NULL does nothing. */
int lapis_unregister(lapi_handle_t hndl, void *addr);

/*
 * Teams, types and operators of collectives
 */

/* What calls of this header give beside codes of lapi.h. LAPI_Msg_string knows them. */
#define LAPIS_ERR_TEAM      601 /* The team is none of this context's, or has been freed. */
#define LAPIS_ERR_GROUP     602 /* The members make no team: there are none, one is named twice, one is no task of the job, or the caller is none of them. */
#define LAPIS_ERR_TEAM_OVER 603 /* The team is over: a member died, ended its context, was purged or restarted, or its call failed. */
#define LAPIS_ERR_MISMATCH  604 /* Members of the team made different calls, or calls with different roots, lengths, types or operators. */
#define LAPIS_ERR_ROOT      605 /* The root, or a rank in a list, is no member of the team. */
#define LAPIS_ERR_COUNT     606 /* The counts of a collective are more than an address space, or a list of them is NULL. */
#define LAPIS_ERR_TYPE      607 /* The type of a collective's elements is not one that Lapis knows. */
#define LAPIS_ERR_OP        608 /* The operator is not one that Lapis knows, has been freed, or means nothing on elements of this type. */
#define LAPIS_ERR_BUFFER    609 /* An input or output of a collective is NULL although it has a length, or another member can't read it. */
#define LAPIS_ERR_REQUEST   610 /* The request is none of this context's, or is of another kind than the call wants. */
#define LAPIS_ERR_BUSY      611 /* The request is under way, or another thread uses it. */

/* Names a team: tasks that call collectives together. */
typedef uint lapis_team_t;

#define LAPIS_WORLD                0 /* the team of all tasks */
#define LAPIS_NO_TEAM              0xffffffffu /* no team: the caller is no member */

/* Names a nonblocking or persistent collective. */
typedef uint lapis_request_t;

#define LAPIS_NO_REQUEST           0 /* no request: the value of one that has been waited for */

/* Types of elements. */
typedef uint lapis_type_t;

#define LAPIS_I8                   1 /* int8_t */
#define LAPIS_I16                  2 /* int16_t */
#define LAPIS_I32                  3 /* int32_t */
#define LAPIS_I64                  4 /* int64_t */
#define LAPIS_U8                   5 /* uint8_t, also plain bytes */
#define LAPIS_U16                  6 /* uint16_t */
#define LAPIS_U32                  7 /* uint32_t */
#define LAPIS_U64                  8 /* uint64_t */
#define LAPIS_F32                  9 /* float */
#define LAPIS_F64                  10 /* double */
#define LAPIS_C32                  11 /* two floats: a complex number */
#define LAPIS_C64                  12 /* two doubles: a complex number */
#define LAPIS_BOOL                 13 /* a byte, true if not 0 */
#define LAPIS_I32_AT               14 /* int32_t and its location, an int32_t */
#define LAPIS_I64_AT               15 /* int64_t and its location, an int64_t */
#define LAPIS_F32_AT               16 /* float and its location, an int32_t */
#define LAPIS_F64_AT               17 /* double and its location, an int64_t */
#define LAPIS_BYTES_FLAG           0x40000000u /* base of the types of LAPIS_BYTES */
/* opaque elements of 1 to 2^30 - 1 bytes, to be moved or for operators of the program */
#define LAPIS_BYTES(size) (LAPIS_BYTES_FLAG | (lapis_type_t)(size))
/* as input, or at the root of a scatter as output: the data is where the other buffer has it */
#define LAPIS_IN_PLACE ((void *)-1)

/* Operators of reductions. */
typedef uint lapis_op_t;

#define LAPIS_SUM                  1 /* integers wrap around */
#define LAPIS_PRODUCT              2 /* integers wrap around */
#define LAPIS_MIN                  3 /* of a number and not-a-number, the number */
#define LAPIS_MAX                  4 /* of a number and not-a-number, the number */
#define LAPIS_MIN_AT               5 /* the minimum and its location, the first of several */
#define LAPIS_MAX_AT               6 /* the maximum and its location, the first of several */
/* logical: of two operands and more, the result is 0 or 1; a single one stays as it is */
#define LAPIS_AND 7
#define LAPIS_OR                   8 /* logical, as LAPIS_AND */
#define LAPIS_XOR                  9 /* logical, as LAPIS_AND */
#define LAPIS_BIT_AND              10 /* bitwise */
#define LAPIS_BIT_OR               11 /* bitwise */
#define LAPIS_BIT_XOR              12 /* bitwise */

/*
 * An operator of the program: writes count elements, each of which combines left with right; left is of lower ranks.
 * result is either left or right. It calls nothing of Lapis.
 */
typedef void (lapis_fold_t)(const void *left, const void *right, void *result, ulong count,
                            void *arg);

/* An edge of a graph: elements that are sent to a member, or received from it. */
typedef struct {
    uint rank;     /* the member at the other end */
    uint reserved; /* 0 */
    ulong start;   /* the first element: in the input for edges to members, in the output for edges from them */
    ulong count;   /* the number of elements */
} lapis_edge_t;

/*
 * Teams
 */

/* Creates the team of these tasks, in this order. Only the members call this. */
int lapis_team_of(lapi_handle_t hndl, uint count, const uint *tasks, lapis_team_t *made);

/* Creates the team of the tasks first, first + stride, ... Only the members call this. */
int lapis_team_strided(lapi_handle_t hndl, uint first, long stride, uint count, lapis_team_t *made);

/* Creates the team of the members with these ranks, in this order. */
int lapis_team_include(lapi_handle_t hndl, lapis_team_t team, uint count, const uint *ranks,
                       lapis_team_t *made);

/* Creates the team of all members but those with these ranks. */
int lapis_team_exclude(lapi_handle_t hndl, lapis_team_t team, uint count, const uint *ranks,
                       lapis_team_t *made);

/* Creates the team of the members at ranks first, first + stride, and so on up to last. */
int lapis_team_range(lapi_handle_t hndl, lapis_team_t team, uint first, uint last, long stride,
                     lapis_team_t *made);

/* Creates the team of the members of either team. */
int lapis_team_union(lapi_handle_t hndl, lapis_team_t team, lapis_team_t other, lapis_team_t *made);

/* Creates the team of the members of the first team that the second one does not have. */
int lapis_team_difference(lapi_handle_t hndl, lapis_team_t team, lapis_team_t other,
                          lapis_team_t *made);

/* Creates the team of the members of both teams. */
int lapis_team_intersection(lapi_handle_t hndl, lapis_team_t team, lapis_team_t other,
                            lapis_team_t *made);

/* Collective: splits a team by colour; each team is ordered by key. */
int lapis_team_split(lapi_handle_t hndl, lapis_team_t team, int colour, long key,
                     lapis_team_t *made);

/* Frees a team. Local. */
int lapis_team_free(lapi_handle_t hndl, lapis_team_t team);

/* Returns the number of a team's members. */
int lapis_team_size(lapi_handle_t hndl, lapis_team_t team, uint *size);

/* Returns the calling task's rank. */
int lapis_team_rank(lapi_handle_t hndl, lapis_team_t team, uint *rank);

/* Returns the task with a rank. */
int lapis_team_task(lapi_handle_t hndl, lapis_team_t team, uint rank, uint *task);

/* Returns a member's rank in another team; -1 if it is no member there. */
int lapis_team_translate(lapi_handle_t hndl, lapis_team_t team, uint rank, lapis_team_t other,
                         int *there);

/* Sets whether reductions give the same bits whatever their length, the hosts and the transport. */
int lapis_team_reproducible(lapi_handle_t hndl, lapis_team_t team, int on);

/*
 * Collectives: blocking, nonblocking (lapis_i*) and persistent (lapis_*_init, started by lapis_start)
 */

/* Barrier: returns when all members have called. */
int lapis_barrier(lapi_handle_t hndl, lapis_team_t team);
int lapis_ibarrier(lapi_handle_t hndl, lapis_team_t team, lapis_request_t *request);
int lapis_barrier_init(lapi_handle_t hndl, lapis_team_t team, lapis_request_t *request);

/* Broadcasts the root's data to all members. */
int lapis_bcast(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count, lapis_type_t type,
                uint root);
int lapis_ibcast(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count,
                 lapis_type_t type, uint root, lapis_request_t *request);
int lapis_bcast_init(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count,
                     lapis_type_t type, uint root, lapis_request_t *request);

/* Broadcasts the root's data, from its layout to those of the others. */
int lapis_bcastw(lapi_handle_t hndl, lapis_team_t team, void *data, ulong bytes,
                 lapi_dg_handle_t dgsp, uint root);
int lapis_ibcastw(lapi_handle_t hndl, lapis_team_t team, void *data, ulong bytes,
                  lapi_dg_handle_t dgsp, uint root, lapis_request_t *request);
int lapis_bcastw_init(lapi_handle_t hndl, lapis_team_t team, void *data, ulong bytes,
                      lapi_dg_handle_t dgsp, uint root, lapis_request_t *request);

/* Sends the root's data to the members with these ranks. All members of the team call. */
int lapis_mcast(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count, lapis_type_t type,
                uint root, uint members, const uint *ranks);
int lapis_imcast(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count,
                 lapis_type_t type, uint root, uint members, const uint *ranks,
                 lapis_request_t *request);
int lapis_mcast_init(lapi_handle_t hndl, lapis_team_t team, void *data, ulong count,
                     lapis_type_t type, uint root, uint members, const uint *ranks,
                     lapis_request_t *request);

/* Reduces the inputs of all members at the root. */
int lapis_reduce(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                 ulong count, lapis_type_t type, lapis_op_t op, uint root);
int lapis_ireduce(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                  ulong count, lapis_type_t type, lapis_op_t op, uint root,
                  lapis_request_t *request);
int lapis_reduce_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                      ulong count, lapis_type_t type, lapis_op_t op, uint root,
                      lapis_request_t *request);

/* Reduces the inputs of all members, for all members. */
int lapis_allreduce(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                    ulong count, lapis_type_t type, lapis_op_t op);
int lapis_iallreduce(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                     ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);
int lapis_allreduce_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                         ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);

/* Reduces the inputs of all members and gives each its part of the result. */
int lapis_reduce_scatter(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                         const ulong *counts, lapis_type_t type, lapis_op_t op);
int lapis_ireduce_scatter(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                          const ulong *counts, lapis_type_t type, lapis_op_t op,
                          lapis_request_t *request);
int lapis_reduce_scatter_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                              void *output, const ulong *counts, lapis_type_t type, lapis_op_t op,
                              lapis_request_t *request);

/* Reduces the inputs of all members and gives each its part of the result: count elements. */
int lapis_reduce_scatter_block(lapi_handle_t hndl, lapis_team_t team, const void *input,
                               void *output, ulong count, lapis_type_t type, lapis_op_t op);
int lapis_ireduce_scatter_block(lapi_handle_t hndl, lapis_team_t team, const void *input,
                                void *output, ulong count, lapis_type_t type, lapis_op_t op,
                                lapis_request_t *request);
int lapis_reduce_scatter_block_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                                    void *output, ulong count, lapis_type_t type, lapis_op_t op,
                                    lapis_request_t *request);

/* Gathers the inputs of all members at the root, by rank. */
int lapis_gather(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                 ulong count, lapis_type_t type, uint root);
int lapis_igather(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                  ulong count, lapis_type_t type, uint root, lapis_request_t *request);
int lapis_gather_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                      ulong count, lapis_type_t type, uint root, lapis_request_t *request);

/* Gathers inputs of any lengths at the root. */
int lapis_gatherv(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong count,
                  void *output, const ulong *counts, const ulong *starts, lapis_type_t type,
                  uint root);
int lapis_igatherv(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong count,
                   void *output, const ulong *counts, const ulong *starts, lapis_type_t type,
                   uint root, lapis_request_t *request);
int lapis_gatherv_init(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong count,
                       void *output, const ulong *counts, const ulong *starts, lapis_type_t type,
                       uint root, lapis_request_t *request);

/* Gathers parts at the root, each in a layout of its own. */
int lapis_gatherw(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                  lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                  const ulong *get_starts, const lapi_dg_handle_t *get_dgsps, uint root);
int lapis_igatherw(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                   lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                   const ulong *get_starts, const lapi_dg_handle_t *get_dgsps, uint root,
                   lapis_request_t *request);
int lapis_gatherw_init(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                       lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                       const ulong *get_starts, const lapi_dg_handle_t *get_dgsps, uint root,
                       lapis_request_t *request);

/* Scatters the root's input: each member gets its part. */
int lapis_scatter(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                  ulong count, lapis_type_t type, uint root);
int lapis_iscatter(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                   ulong count, lapis_type_t type, uint root, lapis_request_t *request);
int lapis_scatter_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                       ulong count, lapis_type_t type, uint root, lapis_request_t *request);

/* Scatters the root's input, in parts of any lengths. */
int lapis_scatterv(lapi_handle_t hndl, lapis_team_t team, const void *input, const ulong *counts,
                   const ulong *starts, void *output, ulong count, lapis_type_t type, uint root);
int lapis_iscatterv(lapi_handle_t hndl, lapis_team_t team, const void *input, const ulong *counts,
                    const ulong *starts, void *output, ulong count, lapis_type_t type, uint root,
                    lapis_request_t *request);
int lapis_scatterv_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                        const ulong *counts, const ulong *starts, void *output, ulong count,
                        lapis_type_t type, uint root, lapis_request_t *request);

/* Scatters the root's data, each part in a layout of its own. */
int lapis_scatterw(lapi_handle_t hndl, lapis_team_t team, const void *input,
                   const ulong *give_bytes, const ulong *give_starts,
                   const lapi_dg_handle_t *give_dgsps, void *output, ulong bytes,
                   lapi_dg_handle_t dgsp, uint root);
int lapis_iscatterw(lapi_handle_t hndl, lapis_team_t team, const void *input,
                    const ulong *give_bytes, const ulong *give_starts,
                    const lapi_dg_handle_t *give_dgsps, void *output, ulong bytes,
                    lapi_dg_handle_t dgsp, uint root, lapis_request_t *request);
int lapis_scatterw_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                        const ulong *give_bytes, const ulong *give_starts,
                        const lapi_dg_handle_t *give_dgsps, void *output, ulong bytes,
                        lapi_dg_handle_t dgsp, uint root, lapis_request_t *request);

/* Gathers the inputs of all members at all members, by rank. */
int lapis_allgather(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                    ulong count, lapis_type_t type);
int lapis_iallgather(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                     ulong count, lapis_type_t type, lapis_request_t *request);
int lapis_allgather_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                         ulong count, lapis_type_t type, lapis_request_t *request);

/* Gathers inputs of any lengths at all members. */
int lapis_allgatherv(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                     const ulong *counts, const ulong *starts, lapis_type_t type);
int lapis_iallgatherv(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                      const ulong *counts, const ulong *starts, lapis_type_t type,
                      lapis_request_t *request);
int lapis_allgatherv_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                          const ulong *counts, const ulong *starts, lapis_type_t type,
                          lapis_request_t *request);

/* Gathers parts at all members, each in a layout of its own. */
int lapis_allgatherw(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                     lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                     const ulong *get_starts, const lapi_dg_handle_t *get_dgsps);
int lapis_iallgatherw(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                      lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                      const ulong *get_starts, const lapi_dg_handle_t *get_dgsps,
                      lapis_request_t *request);
int lapis_allgatherw_init(lapi_handle_t hndl, lapis_team_t team, const void *input, ulong bytes,
                          lapi_dg_handle_t dgsp, void *output, const ulong *get_bytes,
                          const ulong *get_starts, const lapi_dg_handle_t *get_dgsps,
                          lapis_request_t *request);

/* Exchanges parts of count elements between all members. */
int lapis_alltoall(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                   ulong count, lapis_type_t type);
int lapis_ialltoall(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                    ulong count, lapis_type_t type, lapis_request_t *request);
int lapis_alltoall_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                        ulong count, lapis_type_t type, lapis_request_t *request);

/* Exchanges parts of any lengths between all members. */
int lapis_alltoallv(lapi_handle_t hndl, lapis_team_t team, const void *input,
                    const ulong *give_counts, const ulong *give_starts, void *output,
                    const ulong *get_counts, const ulong *get_starts, lapis_type_t type);
int lapis_ialltoallv(lapi_handle_t hndl, lapis_team_t team, const void *input,
                     const ulong *give_counts, const ulong *give_starts, void *output,
                     const ulong *get_counts, const ulong *get_starts, lapis_type_t type,
                     lapis_request_t *request);
int lapis_alltoallv_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                         const ulong *give_counts, const ulong *give_starts, void *output,
                         const ulong *get_counts, const ulong *get_starts, lapis_type_t type,
                         lapis_request_t *request);

/* Exchanges parts between all members, each in a layout of its own. */
int lapis_alltoallw(lapi_handle_t hndl, lapis_team_t team, const void *input,
                    const ulong *give_bytes, const ulong *give_starts,
                    const lapi_dg_handle_t *give_dgsps, void *output, const ulong *get_bytes,
                    const ulong *get_starts, const lapi_dg_handle_t *get_dgsps);
int lapis_ialltoallw(lapi_handle_t hndl, lapis_team_t team, const void *input,
                     const ulong *give_bytes, const ulong *give_starts,
                     const lapi_dg_handle_t *give_dgsps, void *output, const ulong *get_bytes,
                     const ulong *get_starts, const lapi_dg_handle_t *get_dgsps,
                     lapis_request_t *request);
int lapis_alltoallw_init(lapi_handle_t hndl, lapis_team_t team, const void *input,
                         const ulong *give_bytes, const ulong *give_starts,
                         const lapi_dg_handle_t *give_dgsps, void *output, const ulong *get_bytes,
                         const ulong *get_starts, const lapi_dg_handle_t *get_dgsps,
                         lapis_request_t *request);

/* Inclusive scan: reduces the inputs of the members up to the caller, in order. */
int lapis_scan(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
               ulong count, lapis_type_t type, lapis_op_t op);
int lapis_iscan(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);
int lapis_scan_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                    ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);

/* Exclusive scan: reduces the inputs of the members before the caller, in order; rank 0's output is unchanged. */
int lapis_exscan(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                 ulong count, lapis_type_t type, lapis_op_t op);
int lapis_iexscan(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                  ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);
int lapis_exscan_init(lapi_handle_t hndl, lapis_team_t team, const void *input, void *output,
                      ulong count, lapis_type_t type, lapis_op_t op, lapis_request_t *request);

/* Exchanges along the edges of a graph; each member gives its own edges. */
int lapis_neighbours(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                     const lapis_edge_t *to, void *output, uint ins, const lapis_edge_t *from,
                     lapis_type_t type);
int lapis_ineighbours(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                      const lapis_edge_t *to, void *output, uint ins, const lapis_edge_t *from,
                      lapis_type_t type, lapis_request_t *request);
int lapis_neighbours_init(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                          const lapis_edge_t *to, void *output, uint ins,
                          const lapis_edge_t *from, lapis_type_t type, lapis_request_t *request);

/* Exchanges along the edges of a graph, each part in a layout of its own. */
int lapis_neighboursw(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                      const lapis_edge_t *to, const lapi_dg_handle_t *give_dgsps, void *output,
                      uint ins, const lapis_edge_t *from, const lapi_dg_handle_t *get_dgsps);
int lapis_ineighboursw(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                       const lapis_edge_t *to, const lapi_dg_handle_t *give_dgsps, void *output,
                       uint ins, const lapis_edge_t *from, const lapi_dg_handle_t *get_dgsps,
                       lapis_request_t *request);
int lapis_neighboursw_init(lapi_handle_t hndl, lapis_team_t team, const void *input, uint outs,
                           const lapis_edge_t *to, const lapi_dg_handle_t *give_dgsps,
                           void *output, uint ins, const lapis_edge_t *from,
                           const lapi_dg_handle_t *get_dgsps, lapis_request_t *request);

/*
 * Requests and operators
 */

/* Waits for the end of an operation. */
int lapis_wait(lapi_handle_t hndl, lapis_request_t *request);

/* Waits until all of them have ended. */
int lapis_waitall(lapi_handle_t hndl, uint count, lapis_request_t *requests);

/* Makes progress, and returns whether an operation has ended. */
int lapis_test(lapi_handle_t hndl, lapis_request_t *request, int *ended);

/* Starts a persistent operation of lapis_*_init. */
int lapis_start(lapi_handle_t hndl, lapis_request_t *request);

/* Lets a counter be told of the end, by 1, instead of waiting for it. */
int lapis_request_count(lapi_handle_t hndl, lapis_request_t *request, lapi_cntr_t *cntr);

/* Lets a completion handler run at the end, instead of waiting for it. */
int lapis_request_then(lapi_handle_t hndl, lapis_request_t *request, compl_hndlr_t *done,
                       void *arg);

/* Frees a persistent operation of lapis_*_init. */
int lapis_request_free(lapi_handle_t hndl, lapis_request_t *request);

/* Makes an operator of a function. */
int lapis_op_create(lapi_handle_t hndl, lapis_fold_t *fold, int commutes, void *arg,
                    lapis_op_t *op);

/* Lets go of an operator. Collectives under way keep it. */
int lapis_op_free(lapi_handle_t hndl, lapis_op_t op);

/* Writes why this thread's last call of this header failed, with the numbers, for people. */
int lapis_error_text(char *text, ulong size);

#ifdef __cplusplus
}
#endif

#endif /* LAPIS_H */
