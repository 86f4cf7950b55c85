/*
 * acp.h - Advanced Communication Primitives, as implemented by Lapis.
 *
 * Link with -lacp, or compile with acpcc. acp(3) describes each call; docs/acp.md of the source
 * tree says how this implementation reads the specification.
 */
#ifndef LAPIS_ACP_H
#define LAPIS_ACP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Infrastructure */

/*
 * Joins the job and takes ACP's own arguments out of the program's. Both may be NULL: then they
 * count, too, and stay in the command line.
 */
extern int acp_init(int *argc, char ***argv);
extern int acp_finalize(void);
/* All processes take the ranks that they name; memory, channels and handles are void. */
extern int acp_reset(int rank);
extern void acp_abort(const char *str);
extern int acp_procs(void);
extern int acp_rank(void);
extern int acp_sync(void);

/* Why the last call of this thread failed: a number of errno(3). */
extern int *acp_errno_location(void);
#define ACP_ERRNO (*acp_errno_location())

/* Global memory management */

typedef uint64_t acp_atkey_t;
typedef uint64_t acp_ga_t;

#define ACP_ATKEY_NULL 0LLU
#define ACP_GA_NULL 0LLU

extern acp_atkey_t acp_register_memory(void *addr, size_t size, int color);
extern int acp_unregister_memory(acp_atkey_t atkey);
extern acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr);
extern acp_ga_t acp_query_starter_ga(int rank);
extern void *acp_query_address(acp_ga_t ga);
extern int acp_query_rank(acp_ga_t ga);
extern int acp_query_color(acp_ga_t ga);
extern int acp_colors(void);

/* Global memory access */

typedef uint64_t acp_handle_t;

#define ACP_HANDLE_NULL 0x0000000000000000LLU
#define ACP_HANDLE_CONT 0xfffffffffffffffeLLU
#define ACP_HANDLE_ALL 0xffffffffffffffffLLU

extern acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size, acp_handle_t order);

/* The variable at src is changed; what it was goes to dst, memory of the caller. */
extern acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval, uint32_t newval,
                             acp_handle_t order);
extern acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval, uint64_t newval,
                             acp_handle_t order);
extern acp_handle_t acp_swap4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
extern acp_handle_t acp_swap8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
extern acp_handle_t acp_add4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
extern acp_handle_t acp_add8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
extern acp_handle_t acp_xor4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
extern acp_handle_t acp_xor8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
extern acp_handle_t acp_or4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
extern acp_handle_t acp_or8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
extern acp_handle_t acp_and4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
extern acp_handle_t acp_and8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);

extern void acp_complete(acp_handle_t handle);
extern int acp_inquire(acp_handle_t handle);

/* Channels */

typedef struct lapis_acp_channel *acp_ch_t;
typedef struct lapis_acp_request *acp_request_t;

#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)

extern acp_ch_t acp_create_ch(int sender, int receiver);
extern int acp_free_ch(acp_ch_t ch);
extern acp_request_t acp_nbfree_ch(acp_ch_t ch);
extern acp_request_t acp_nbsend_ch(acp_ch_t ch, void *buf, size_t size);
extern acp_request_t acp_nbrecv_ch(acp_ch_t ch, void *buf, size_t size);
/* Bytes received, or (size_t)-1. */
extern size_t acp_wait_ch(acp_request_t request);
/* sizes may be NULL. 0, or -1 if one of the requests failed. */
extern int acp_waitall_ch(acp_request_t *requests, int count, size_t *sizes);

/*
 * Segmented buffers: a ring of segnum segments of segsize bytes that exists twice, in the memory buf
 * of a source and in that of a destination. The n-th buffer from one process to another is the same
 * at both. Calls give 0, or 1 if they fail. One thread at a time uses an end.
 */

typedef struct lapis_acp_segbuf *acp_segbuf_t;

#define ACP_SEGBUF_NULL ((acp_segbuf_t)0)

extern acp_segbuf_t acp_create_src_segbuf(int dst_rank, void *buf, size_t segsize, size_t segnum);
extern acp_segbuf_t acp_create_dst_segbuf(int src_rank, void *buf, size_t segsize, size_t segnum);
/* Waits for the other end, which must have the same sizes. */
extern int acp_connect_segbuf(acp_segbuf_t segbuf);
/* 0 if both ends are there, else 1. */
extern int acp_isconnected_segbuf(acp_segbuf_t segbuf);
/* Destination: the segment at the head may be written again. */
extern int acp_ready_segbuf(acp_segbuf_t segbuf);
/* Source: sends the segment at the tail. */
extern int acp_ack_segbuf(acp_segbuf_t segbuf);
/* 0 if there is a segment to write, else 1. */
extern int acp_isready_segbuf(acp_segbuf_t segbuf);
/* 0 if there is a segment to read, else 1. */
extern int acp_isacked_segbuf(acp_segbuf_t segbuf);
/* Numbers of segments below segnum, or -1. Data begin at the head and end before the tail. */
extern int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
extern int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
/* Source: the segments before this one have been copied. */
extern int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);
extern int acp_disconnect_segbuf(acp_segbuf_t segbuf);
/* Waits until the other end is disconnected, too. */
extern int acp_free_segbuf(acp_segbuf_t segbuf);

/*
 * Workspaces: bytes in pieces in the memory of several processes. All processes create and destroy
 * them together. The first piece of the first workspace is at rank 0, each further piece at the next
 * rank, from the last one on at rank 0 again. Calls give 0, or 1 if they fail.
 */

typedef struct {
    size_t size_ws;
    size_t size_default;
    size_t size_remainder;
    size_t ngas;
    acp_atkey_t key_data;
    acp_ga_t ga_data;
    acp_atkey_t *keys;
    acp_ga_t *gas;
    int *procs;
    int *sizes;
    void *data;
} acp_wsditem;

typedef acp_wsditem *acp_wsd_t;

#define ACP_WSD_NULL ((acp_wsd_t)-1)

extern acp_wsd_t acp_create_ws(size_t size);
/* The rank of the next piece, and the bytes of each: at first 0 and 1 MiB. Alike in all processes. */
extern int acp_setparams_ws(size_t proc_start, size_t size_default);
extern void acp_destroy_ws(acp_wsd_t WSD);
/* ga may be any process's memory. */
extern int acp_read_ws(acp_wsd_t WSD, acp_ga_t ga, size_t size, size_t offset);
extern int acp_write_ws(acp_wsd_t WSD, const acp_ga_t ga, size_t size, size_t offset);

/* Memory for everybody, from the process with this rank */

extern acp_ga_t acp_malloc(size_t size, int rank);
extern void acp_free(acp_ga_t ga);

/* The data library */

#include "acpdl.h"

#ifdef __cplusplus
}
#endif

#endif
