/* gm.h: GM, Myricom's message layer, as Lapis offers it. docs/gm.md tells how it works here.
 *
 * Programs open ports of boards and send messages from port to port. A message goes into a buffer
 * that its receiver has provided for its size class and priority. Whatever happens is told by
 * events; callbacks run inside gm_unknown() and nowhere else.
 *
 * Fields of events are in network byte order: gm_ntoh_u8() and its like read them. */
#ifndef _gm_h_
#define _gm_h_

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Versions of the interface. A program may say which one it was written for. */
#define GM_API_VERSION_1_0 0x100
#define GM_API_VERSION_1_1 0x101
#define GM_API_VERSION_1_2 0x102
#define GM_API_VERSION_1_3 0x103
#define GM_API_VERSION_1_4 0x104
#define GM_API_VERSION_1_5 0x105
#define GM_API_VERSION_1_6 0x106
#define GM_API_VERSION_2_0 0x200
#define GM_API_VERSION_2_0_6 0x20006
#define GM_API_VERSION_2_0_12 0x2000c
#define GM_API_VERSION_2_0_16 0x20010
#ifndef GM_API_VERSION
#define GM_API_VERSION GM_API_VERSION_2_0_16
#endif
enum gm_api_version {
    _GM_API_VERSION_1_0 = GM_API_VERSION_1_0,
    _GM_API_VERSION_1_1 = GM_API_VERSION_1_1,
    _GM_API_VERSION_1_2 = GM_API_VERSION_1_2,
    _GM_API_VERSION_1_3 = GM_API_VERSION_1_3,
    _GM_API_VERSION_1_4 = GM_API_VERSION_1_4,
    _GM_API_VERSION_1_5 = GM_API_VERSION_1_5,
    _GM_API_VERSION_1_6 = GM_API_VERSION_1_6,
    _GM_API_VERSION_2_0 = GM_API_VERSION_2_0,
    _GM_API_VERSION_2_0_6 = GM_API_VERSION_2_0_6,
    _GM_API_VERSION_2_0_12 = GM_API_VERSION_2_0_12,
    _GM_API_VERSION_2_0_16 = GM_API_VERSION_2_0_16
};

/* Room for a host's name and for a port's, with their ends. */
#define GM_MAX_HOST_NAME_LEN 128
#define GM_MAX_PORT_NAME_LEN 32
/* Room for what gm_yp() answers, with its end. */
#define GM_MAX_YP_STRING_LEN 128
#define GM_HAVE_YP 1
/* The identity of no node. */
#define GM_NO_SUCH_NODE_ID 0

#define GM_ENTRY_POINT
#ifndef gm_inline
#define gm_inline __inline__
#endif

/* Numbers of known sizes. */
typedef signed char gm_s8_t;
typedef signed short gm_s16_t;
typedef signed int gm_s32_t;
__extension__ typedef signed long long gm_s64_t;
typedef unsigned char gm_u8_t;
typedef unsigned short gm_u16_t;
typedef unsigned int gm_u32_t;
__extension__ typedef unsigned long long gm_u64_t;
/* Lengths and offsets; an address here; an address of whatever port. */
typedef unsigned long gm_size_t;
typedef signed long gm_offset_t;
typedef gm_u64_t gm_up_t;
typedef gm_u64_t gm_remote_ptr_t;
typedef gm_u32_t gm_pid_t;

/* The same in network byte order: structures, so that nobody reads them by mistake. Programs that
 * define GM_STRONG_TYPES as 0 get plain numbers. GM_N() is the number within. */
#ifndef GM_STRONG_TYPES
#define GM_STRONG_TYPES 1
#endif
#if GM_STRONG_TYPES
#define GM_N(x) ((x).n)
#define GM_NETWORK_TYPE(type, name) typedef struct { type n; } name
#else
#define GM_N(x) (x)
#define GM_NETWORK_TYPE(type, name) typedef type name
#endif
GM_NETWORK_TYPE(gm_s8_t, gm_s8_n_t);
GM_NETWORK_TYPE(gm_s16_t, gm_s16_n_t);
GM_NETWORK_TYPE(gm_s32_t, gm_s32_n_t);
GM_NETWORK_TYPE(gm_s64_t, gm_s64_n_t);
GM_NETWORK_TYPE(gm_u8_t, gm_u8_n_t);
GM_NETWORK_TYPE(gm_u16_t, gm_u16_n_t);
GM_NETWORK_TYPE(gm_u32_t, gm_u32_n_t);
GM_NETWORK_TYPE(gm_u64_t, gm_u64_n_t);
GM_NETWORK_TYPE(gm_up_t, gm_up_n_t);
GM_NETWORK_TYPE(gm_remote_ptr_t, gm_remote_ptr_n_t);
typedef gm_up_n_t gm_up_n_up_n_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define GM_NET_16(x) __builtin_bswap16(x)
#define GM_NET_32(x) __builtin_bswap32(x)
#define GM_NET_64(x) __builtin_bswap64(x)
#else
#define GM_NET_16(x) (x)
#define GM_NET_32(x) (x)
#define GM_NET_64(x) (x)
#endif
#define GM_NET_8(x) (x)

static __inline__ gm_u8_t gm_ntoh_u8(gm_u8_n_t v) { gm_u8_t x = (gm_u8_t)GM_N(v); return (gm_u8_t)GM_NET_8(x); }
static __inline__ gm_u8_n_t gm_hton_u8(gm_u8_t v) { gm_u8_t x = (gm_u8_t)v; gm_u8_n_t r; GM_N(r) = (gm_u8_t)GM_NET_8(x); return r; }
static __inline__ gm_u16_t gm_ntoh_u16(gm_u16_n_t v) { gm_u16_t x = (gm_u16_t)GM_N(v); return (gm_u16_t)GM_NET_16(x); }
static __inline__ gm_u16_n_t gm_hton_u16(gm_u16_t v) { gm_u16_t x = (gm_u16_t)v; gm_u16_n_t r; GM_N(r) = (gm_u16_t)GM_NET_16(x); return r; }
static __inline__ gm_u32_t gm_ntoh_u32(gm_u32_n_t v) { gm_u32_t x = (gm_u32_t)GM_N(v); return (gm_u32_t)GM_NET_32(x); }
static __inline__ gm_u32_n_t gm_hton_u32(gm_u32_t v) { gm_u32_t x = (gm_u32_t)v; gm_u32_n_t r; GM_N(r) = (gm_u32_t)GM_NET_32(x); return r; }
static __inline__ gm_u64_t gm_ntoh_u64(gm_u64_n_t v) { gm_u64_t x = (gm_u64_t)GM_N(v); return (gm_u64_t)GM_NET_64(x); }
static __inline__ gm_u64_n_t gm_hton_u64(gm_u64_t v) { gm_u64_t x = (gm_u64_t)v; gm_u64_n_t r; GM_N(r) = (gm_u64_t)GM_NET_64(x); return r; }
static __inline__ gm_s8_t gm_ntoh_s8(gm_s8_n_t v) { gm_u8_t x = (gm_u8_t)GM_N(v); return (gm_s8_t)GM_NET_8(x); }
static __inline__ gm_s8_n_t gm_hton_s8(gm_s8_t v) { gm_u8_t x = (gm_u8_t)v; gm_s8_n_t r; GM_N(r) = (gm_s8_t)GM_NET_8(x); return r; }
static __inline__ gm_s16_t gm_ntoh_s16(gm_s16_n_t v) { gm_u16_t x = (gm_u16_t)GM_N(v); return (gm_s16_t)GM_NET_16(x); }
static __inline__ gm_s16_n_t gm_hton_s16(gm_s16_t v) { gm_u16_t x = (gm_u16_t)v; gm_s16_n_t r; GM_N(r) = (gm_s16_t)GM_NET_16(x); return r; }
static __inline__ gm_s32_t gm_ntoh_s32(gm_s32_n_t v) { gm_u32_t x = (gm_u32_t)GM_N(v); return (gm_s32_t)GM_NET_32(x); }
static __inline__ gm_s32_n_t gm_hton_s32(gm_s32_t v) { gm_u32_t x = (gm_u32_t)v; gm_s32_n_t r; GM_N(r) = (gm_s32_t)GM_NET_32(x); return r; }
static __inline__ gm_s64_t gm_ntoh_s64(gm_s64_n_t v) { gm_u64_t x = (gm_u64_t)GM_N(v); return (gm_s64_t)GM_NET_64(x); }
static __inline__ gm_s64_n_t gm_hton_s64(gm_s64_t v) { gm_u64_t x = (gm_u64_t)v; gm_s64_n_t r; GM_N(r) = (gm_s64_t)GM_NET_64(x); return r; }

/* A pointer out of an event. */
static __inline__ void *gm_ntohp(gm_up_n_t v) { return (void *)(unsigned long)GM_NET_64(GM_N(v)); }

/* Former names. */
static __inline__ gm_u8_t gm_ntohc(gm_u8_n_t v) { return gm_ntoh_u8(v); }
static __inline__ gm_u16_t gm_ntohs(gm_u16_n_t v) { return gm_ntoh_u16(v); }
static __inline__ gm_u32_t gm_ntohl(gm_u32_n_t v) { return gm_ntoh_u32(v); }
static __inline__ gm_u64_t gm_ntohll(gm_u64_n_t v) { return gm_ntoh_u64(v); }
static __inline__ gm_u8_n_t gm_htonc(gm_u8_t v) { return gm_hton_u8(v); }
static __inline__ gm_u16_n_t gm_htons(gm_u16_t v) { return gm_hton_u16(v); }
static __inline__ gm_u32_n_t gm_htonl(gm_u32_t v) { return gm_hton_u32(v); }
static __inline__ gm_u64_n_t gm_htonll(gm_u64_t v) { return gm_hton_u64(v); }

/* How a call or a send ended. docs/gm.md says which of these Lapis gives, and when. */
typedef enum gm_status {
    GM_SUCCESS = 0,
    GM_FAILURE = 1,
    GM_INPUT_BUFFER_TOO_SMALL = 2,
    GM_OUTPUT_BUFFER_TOO_SMALL = 3,
    GM_TRY_AGAIN = 4,
    GM_BUSY = 5,
    GM_MEMORY_FAULT = 6,
    GM_INTERRUPTED = 7,
    GM_INVALID_PARAMETER = 8,
    GM_OUT_OF_MEMORY = 9,
    GM_INVALID_COMMAND = 10,
    GM_PERMISSION_DENIED = 11,
    GM_INTERNAL_ERROR = 12,
    GM_UNATTACHED = 13,
    GM_UNSUPPORTED_DEVICE = 14,
    GM_SEND_TIMED_OUT = 15,
    GM_SEND_REJECTED = 16,
    GM_SEND_TARGET_PORT_CLOSED = 17,
    GM_SEND_TARGET_NODE_UNREACHABLE = 18,
    GM_SEND_DROPPED = 19,
    GM_SEND_PORT_CLOSED = 20,
    GM_NODE_ID_NOT_YET_SET = 21,
    GM_STILL_SHUTTING_DOWN = 22,
    GM_CLONE_BUSY = 23,
    GM_NO_SUCH_DEVICE = 24,
    GM_ABORTED = 25,
    GM_INCOMPATIBLE_LIB_AND_DRIVER = 26,
    GM_UNTRANSLATED_SYSTEM_ERROR = 27,
    GM_ACCESS_DENIED = 28,
    GM_NO_DRIVER_SUPPORT = 29,
    GM_PTE_REF_CNT_OVERFLOW = 30,
    GM_NOT_SUPPORTED_IN_KERNEL = 31,
    GM_NOT_SUPPORTED_ON_ARCH = 32,
    GM_NO_MATCH = 33,
    GM_USER_ERROR = 34,
    GM_TIMED_OUT = 35,
    GM_DATA_CORRUPTED = 36,
    GM_HARDWARE_FAULT = 37,
    GM_SEND_ORPHANED = 38,
    GM_MINOR_OVERFLOW = 39,
    GM_PAGE_TABLE_FULL = 40,
    GM_UC_ERROR = 41,
    GM_INVALID_PORT_NUMBER = 42,
    GM_DEV_NOT_FOUND = 43,
    GM_FIRMWARE_NOT_RUNNING = 44,
    GM_YP_NO_MATCH = 45,
    GM_SRAM_PARITY_ERROR = 46,
    GM_FIRMWARE_ABORT = 47,
    GM_NUM_STATUS_CODES,
    GM_NUM_ERROR_CODES = GM_NUM_STATUS_CODES
} gm_status_t;

enum gm_priority { GM_LOW_PRIORITY = 0, GM_HIGH_PRIORITY = 1, GM_NUM_PRIORITIES = 2 };

#include "gm_events.h"

struct gm_port;
typedef struct gm_port gm_port_t;

typedef void (*gm_send_completion_callback_t)(struct gm_port *p, void *context, gm_status_t status);
typedef void (*gm_on_exit_callback_t)(gm_status_t status, void *arg);

/* An alarm: memory of the program's. gm_initialize_alarm() comes first. */
typedef struct gm_alarm {
    struct gm_alarm *next;
    enum { GM_ALARM_FREE = 0, GM_ALARM_SET = 1 } state;
    struct gm_port *port;
    void (*callback)(void *context);
    void *context;
    gm_u64_t deadline;
} gm_alarm_t;

/* Bytes of a page. */
extern unsigned long GM_PAGE_LEN;

#define GM_OFFSETOF(type, field) ((gm_offset_t)__builtin_offsetof(type, field))
#define GM_STRUCT_CONTAINING(type, field, instance) ((type *)((char *)(instance) - GM_OFFSETOF(type, field)))
#define GM_NUM_ELEM(array) (sizeof(array) / sizeof(*(array)))
#define GM_POWER_OF_TWO(n) (!((n) & ((n) - 1)))
#define GM_MISALIGNMENT(n, m) ((gm_size_t)(n) & ((gm_size_t)(m) - 1))
#define GM_ALIGNED(n, m) (GM_MISALIGNMENT(n, m) == 0)
#define GM_DMA_ALIGNED(p) GM_ALIGNED(p, GM_DMA_GRANULARITY)
#define GM_LOOPS_FOREVER() { if (0) break; }
#define GM_PARAMETER_MAY_BE_UNUSED(p) ((void)(p))
#define GM_VAR_MAY_BE_UNUSED(v) ((void)(v))

/* Beginning and end. */
gm_status_t gm_init(void);
void gm_finalize(void);
gm_status_t gm_open(struct gm_port **p, unsigned int unit, unsigned int port, const char *port_name,
                    enum gm_api_version version);
void gm_close(struct gm_port *p);
void gm_exit(gm_status_t status);
void gm_abort(void);
/* The callback runs when the program ends, by gm_exit or otherwise; the last one first. */
gm_status_t gm_on_exit(gm_on_exit_callback_t callback, void *arg);

/* What a port is and has. */
unsigned int gm_num_ports(struct gm_port *p);
unsigned int gm_get_port_id(struct gm_port *p);
unsigned int gm_num_send_tokens(struct gm_port *p);
unsigned int gm_num_receive_tokens(struct gm_port *p);
unsigned int gm_mtu(struct gm_port *p);
unsigned int gm_min_message_size(struct gm_port *p);
unsigned int gm_min_size_for_length(gm_size_t length);
gm_size_t gm_max_length_for_size(unsigned int size);
gm_status_t gm_set_acceptable_sizes(struct gm_port *p, enum gm_priority priority, gm_size_t mask);
gm_status_t gm_set_enable_nack_down(struct gm_port *p, int flag);
gm_u64_t gm_ticks(struct gm_port *p);

/* Nodes. */
gm_status_t gm_get_node_id(struct gm_port *p, unsigned int *n);
gm_status_t gm_get_node_type(struct gm_port *p, int *node_type);
gm_status_t gm_get_host_name(struct gm_port *p, char name[GM_MAX_HOST_NAME_LEN]);
gm_status_t gm_get_unique_board_id(struct gm_port *p, char unique[6]);
gm_status_t gm_unique_id(struct gm_port *p, char unique[6]);
gm_status_t gm_get_mapper_unique_id(struct gm_port *p, char unique[6]);
gm_status_t gm_node_id_to_unique_id(struct gm_port *p, unsigned int n, char unique[6]);
gm_status_t gm_unique_id_to_node_id(struct gm_port *p, char unique[6], unsigned int *node_id);
unsigned int gm_host_name_to_node_id(struct gm_port *p, char *host_name);
gm_status_t gm_host_name_to_node_id_ex(struct gm_port *p, unsigned int timeout_usecs,
                                       const char *host_name, unsigned int *node_id);
char *gm_node_id_to_host_name(struct gm_port *p, unsigned int node_id);
gm_status_t gm_node_id_to_host_name_ex(struct gm_port *p, unsigned int timeout_usecs,
                                       unsigned int node_id, char (*name)[GM_MAX_HOST_NAME_LEN + 1]);
gm_status_t gm_max_node_id(struct gm_port *p, unsigned int *n);
gm_status_t gm_max_node_id_in_use(struct gm_port *p, unsigned int *n);
gm_status_t gm_max_node_id_inuse(struct gm_port *p, unsigned int *n);
gm_status_t gm_node_id_to_global_id(struct gm_port *p, unsigned int node_id, unsigned int *global_id);
gm_status_t gm_global_id_to_node_id(struct gm_port *p, unsigned int global_id, unsigned int *node_id);
gm_status_t gm_yp(struct gm_port *p, unsigned int timeout_usecs, unsigned int *node_id,
                  const char *key, const char *value, char (*answer)[GM_MAX_YP_STRING_LEN]);
gm_status_t _gm_get_route(struct gm_port *p, unsigned int node_id, char *route, unsigned int *len);

/* Sending. Each of these takes a send token, which the callback or the sent event gives back. */
void gm_send_with_callback(struct gm_port *p, void *message, unsigned int size, gm_size_t len,
                           unsigned int priority, unsigned int target_node_id,
                           unsigned int target_port_id, gm_send_completion_callback_t callback,
                           void *context);
void gm_send_to_peer_with_callback(struct gm_port *p, void *message, unsigned int size,
                                   gm_size_t len, unsigned int priority,
                                   unsigned int target_node_id,
                                   gm_send_completion_callback_t callback, void *context);
void gm_send(struct gm_port *p, void *message, unsigned int size, gm_size_t len,
             unsigned int priority, unsigned int target_node_id, unsigned int target_port_id);
void gm_send_to_peer(struct gm_port *p, void *message, unsigned int size, gm_size_t len,
                     unsigned int priority, unsigned int target_node_id);
void gm_datagram_send(struct gm_port *p, void *message, unsigned int size, gm_size_t len,
                      unsigned int priority, unsigned int target_node_id,
                      unsigned int target_port_id, gm_send_completion_callback_t callback,
                      void *context);
void gm_datagram_send_4(struct gm_port *p, gm_u32_t message, unsigned int size, gm_size_t len,
                        unsigned int priority, unsigned int target_node_id,
                        unsigned int target_port_id, gm_send_completion_callback_t callback,
                        void *context);
void gm_directed_send_with_callback(struct gm_port *p, void *source_buffer,
                                    gm_remote_ptr_t target_buffer, gm_size_t len,
                                    enum gm_priority priority, unsigned int target_node_id,
                                    unsigned int target_port_id,
                                    gm_send_completion_callback_t callback, void *context);
void gm_directed_send(struct gm_port *p, void *source_buffer, gm_remote_ptr_t target_buffer,
                      gm_size_t len, enum gm_priority priority, unsigned int target_node_id,
                      unsigned int target_port_id);
void gm_put(struct gm_port *p, void *local_buffer, gm_remote_ptr_t remote_buffer, gm_size_t len,
            enum gm_priority priority, unsigned int target_node_id, unsigned int target_port_id,
            gm_send_completion_callback_t callback, void *context);
void gm_get(struct gm_port *p, gm_remote_ptr_t remote_buffer, void *local_buffer, gm_size_t len,
            enum gm_priority priority, unsigned int target_node_id, unsigned int target_port_id,
            gm_send_completion_callback_t callback, void *context);

/* After a send has failed, nothing more goes to that port with that priority until one of these. */
void gm_resume_sending(struct gm_port *p, unsigned int priority, unsigned int target_node_id,
                       unsigned int target_port_id, gm_send_completion_callback_t callback,
                       void *context);
void gm_drop_sends(struct gm_port *p, unsigned int priority, unsigned int target_node_id,
                   unsigned int target_port_id, gm_send_completion_callback_t callback,
                   void *context);

/* A place to leave send tokens in. It is empty at first: the program has them all. */
int gm_alloc_send_token(struct gm_port *p, unsigned int priority);
int gm_send_token_available(struct gm_port *p, unsigned int priority);
void gm_free_send_token(struct gm_port *p, unsigned int priority);
void gm_free_send_tokens(struct gm_port *p, unsigned int priority, unsigned int count);

/* Receiving. Each buffer takes a receive token, which the event of its message gives back. */
void gm_provide_receive_buffer(struct gm_port *p, void *ptr, unsigned int size, unsigned int priority);
void gm_provide_receive_buffer_with_tag(struct gm_port *p, void *ptr, unsigned int size,
                                        unsigned int priority, unsigned int tag);
union gm_recv_event *gm_receive(struct gm_port *p);
union gm_recv_event *gm_blocking_receive(struct gm_port *p);
union gm_recv_event *gm_blocking_receive_no_spin(struct gm_port *p);
int gm_receive_pending(struct gm_port *p);
int gm_next_event_peek(struct gm_port *p, gm_u16_t *sender);
void gm_unknown(struct gm_port *p, union gm_recv_event *e);
void gm_handle_sent_tokens(struct gm_port *p, union gm_recv_event *e);
void gm_handle_put_notification(struct gm_port *p, union gm_recv_event *e);
void *gm_memorize_message(void *message, void *buffer, unsigned int len);
void gm_wake(struct gm_port *p);

/* Alarms. */
void gm_initialize_alarm(struct gm_alarm *alarm);
void gm_set_alarm(struct gm_port *p, struct gm_alarm *alarm, gm_u64_t usecs,
                  void (*callback)(void *), void *context);
void gm_cancel_alarm(struct gm_alarm *alarm);
void gm_flush_alarm(struct gm_port *p);

/* Memory. */
gm_status_t gm_register_memory(struct gm_port *p, void *ptr, gm_size_t length);
gm_status_t gm_register_memory_ex(struct gm_port *p, void *ptr, gm_size_t length, void *pvma);
gm_status_t gm_deregister_memory(struct gm_port *p, void *ptr, gm_size_t length);
gm_status_t gm_allow_remote_memory_access(struct gm_port *p);
gm_status_t gm_directcopy_get(struct gm_port *p, void *source_addr, void *target_addr,
                              gm_size_t length, unsigned int source_instance_id,
                              unsigned int source_port_id);
void *gm_dma_malloc(struct gm_port *p, gm_size_t length);
void *gm_dma_calloc(struct gm_port *p, gm_size_t count, gm_size_t length);
void gm_dma_free(struct gm_port *p, void *addr);
void *gm_page_alloc(void);
void gm_page_free(void *addr);
void *gm_alloc_pages(gm_size_t len);
void gm_free_pages(void *addr, gm_size_t len);
void *gm_malloc(gm_size_t len);
void *gm_calloc(gm_size_t len, gm_size_t cnt);
void gm_free(void *ptr);

#include "gm_helpers.h"

/* Checks that stay in the program, and those that it has with GM_DEBUG only. */
#define gm_always_assert(a) \
    ((a) ? (void)0 : (gm_eprintf("%s:%d: not so: %s\n", __FILE__, __LINE__, #a), gm_abort()))
#define GM_ABORT() gm_always_assert(0)
#ifndef GM_DEBUG
#define GM_DEBUG 0
#endif
#if GM_DEBUG
#define gm_assert(a) gm_always_assert(a)
#else
#define gm_assert(a) ((void)sizeof(!(a)))
#endif
#define gm_assert_p(a) gm_assert(a)

#ifdef __cplusplus
}
#endif

#endif
