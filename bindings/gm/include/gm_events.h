/* gm_events.h: what a port's events are, and what each holds. gm.h includes it. */
#ifndef _gm_events_h_
#define _gm_events_h_

/* What an event is. Those that a program does not know it passes to gm_unknown(). */
enum gm_recv_event_type {
    GM_NO_RECV_EVENT = 0,
    GM_SENDS_FAILED_EVENT = 1,
    GM_ALARM_EVENT = 2,
    GM_SENT_EVENT = 3,
    _GM_SLEEP_EVENT = 4,
    GM_RAW_RECV_EVENT = 5,
    GM_BAD_SEND_DETECTED_EVENT = 6,
    GM_SEND_TOKEN_VIOLATION_EVENT = 7,
    GM_RECV_TOKEN_VIOLATION_EVENT = 8,
    GM_BAD_RECV_TOKEN_EVENT = 9,
    GM_ALARM_VIOLATION_EVENT = 10,
    GM_RECV_EVENT = 11,
    GM_HIGH_RECV_EVENT = 12,
    GM_PEER_RECV_EVENT = 13,
    GM_HIGH_PEER_RECV_EVENT = 14,
    GM_FAST_RECV_EVENT = 15,
    GM_FAST_HIGH_RECV_EVENT = 16,
    GM_FAST_PEER_RECV_EVENT = 17,
    GM_FAST_HIGH_PEER_RECV_EVENT = 18,
    GM_REJECTED_SEND_EVENT = 19,
    GM_ORPHANED_SEND_EVENT = 20,
    GM_BAD_RESEND_DETECTED_EVENT = 24,
    GM_DROPPED_SEND_EVENT = 25,
    GM_BAD_SEND_VMA_EVENT = 26,
    GM_BAD_RECV_VMA_EVENT = 27,
    _GM_FLUSHED_ALARM_EVENT = 28,
    GM_SENT_TOKENS_EVENT = 29,
    GM_IGNORE_RECV_EVENT = 30,
    GM_ETHERNET_RECV_EVENT = 31,
    GM_FATAL_FIRMWARE_ERROR_EVENT = 32,
    GM_NEW_NO_RECV_EVENT = 128,
    GM_NEW_SENDS_FAILED_EVENT = 129,
    GM_NEW_ALARM_EVENT = 130,
    GM_NEW_SENT_EVENT = 131,
    _GM_NEW_SLEEP_EVENT = 132,
    GM_NEW_RAW_RECV_EVENT = 133,
    GM_NEW_BAD_SEND_DETECTED_EVENT = 134,
    GM_NEW_SEND_TOKEN_VIOLATION_EVENT = 135,
    GM_NEW_RECV_TOKEN_VIOLATION_EVENT = 136,
    GM_NEW_BAD_RECV_TOKEN_EVENT = 137,
    GM_NEW_ALARM_VIOLATION_EVENT = 138,
    GM_NEW_RECV_EVENT = 139,
    GM_NEW_HIGH_RECV_EVENT = 140,
    GM_NEW_PEER_RECV_EVENT = 141,
    GM_NEW_HIGH_PEER_RECV_EVENT = 142,
    GM_NEW_FAST_RECV_EVENT = 143,
    GM_NEW_FAST_HIGH_RECV_EVENT = 144,
    GM_NEW_FAST_PEER_RECV_EVENT = 145,
    GM_NEW_FAST_HIGH_PEER_RECV_EVENT = 146,
    GM_NEW_REJECTED_SEND_EVENT = 147,
    GM_NEW_ORPHANED_SEND_EVENT = 148,
    _GM_NEW_PUT_NOTIFICATION_EVENT = 149,
    GM_NEW_FREE_SEND_TOKEN_EVENT = 150,
    GM_NEW_FREE_HIGH_SEND_TOKEN_EVENT = 151,
    GM_NEW_BAD_RESEND_DETECTED_EVENT = 152,
    GM_NEW_DROPPED_SEND_EVENT = 153,
    GM_NEW_BAD_SEND_VMA_EVENT = 154,
    GM_NEW_BAD_RECV_VMA_EVENT = 155,
    _GM_NEW_FLUSHED_ALARM_EVENT = 156,
    GM_NEW_SENT_TOKENS_EVENT = 157,
    GM_NEW_IGNORE_RECV_EVENT = 158,
    GM_NEW_ETHERNET_RECV_EVENT = 159,
    GM_NEW_FATAL_FIRMWARE_ERROR_EVENT = 160,
    GM_NUM_RECV_EVENT_TYPES
};

#define GM_RDMA_GRANULARITY 64
#define GM_MAX_DMA_GRANULARITY 8
#define GM_DMA_GRANULARITY GM_MAX_DMA_GRANULARITY

/* A message. Of the FAST kinds it lies at `message`, until the next event is taken; its buffer is
 * given back in either case. */
typedef struct gm_recv {
    gm_u8_n_t _reserved[32];
    gm_up_n_t message;
    gm_up_n_t buffer;
    gm_u32_n_t _reserved_after_buffer;
    gm_u32_n_t length;
    gm_u16_n_t sender_node_id;
    gm_u16_n_t _reserved_after_sender_node_id;
    gm_u8_n_t tag;
    gm_u8_n_t size;
    gm_u8_n_t sender_port_id;
    gm_u8_n_t type;
} gm_recv_t;

/* Messages that gm_send() and gm_send_to_peer() have sent: addresses up to a null pointer. */
typedef struct gm_sent {
    gm_u8_n_t _reserved[48];
    gm_up_n_up_n_t message_list;
    gm_u8_n_t _reserved_after_message_list[7];
    gm_u8_n_t type;
} gm_sent_t;

/* One that they have not. */
typedef struct gm_failed_send_event {
    gm_u8_n_t _reserved[48];
    gm_up_n_t message;
    gm_u32_n_t _reserved_after_message;
    gm_u16_n_t target_node_id;
    gm_u8_n_t target_subport_id;
    gm_u8_n_t type;
} gm_failed_send_event_t;

/* What gm_flush_alarm() asked for. */
typedef struct gm_flushed_alarm {
    gm_u8_n_t _reserved[56];
    gm_u32_n_t usecs_remaining;
    gm_u8_n_t _reserved_after_usecs_remaining[3];
    gm_u8_n_t type;
} gm_flushed_alarm_t;

/* Events of the driver and the firmware. None comes here: programs that name them compile. */
#define GM_MAX_SENT_TOKEN_REPORTS_PER_EVENT 31
struct _gm_sent_token_report {
    gm_u8_n_t token;
    gm_u8_n_t status;
};
typedef struct gm_tokens_sent {
    struct _gm_sent_token_report report[GM_MAX_SENT_TOKEN_REPORTS_PER_EVENT];
    gm_u8_n_t _reserved_before_type;
    gm_u8_n_t type;
} gm_tokens_sent_t;
typedef struct gm_fatal_firmware_error {
    gm_u8_n_t _reserved[56];
    gm_u32_n_t status;
    gm_u8_n_t _reserved_after_status[3];
    gm_u8_n_t type;
} gm_fatal_firmware_error_t;
#define GM_IPV4_PARTIAL_CHECKSUM 0x1
#define GM_TCP_UDP_HEADER_SPLIT 0x2
typedef struct gm_ethernet_recv {
    gm_u8_n_t _reserved[32];
    gm_up_n_t message;
    gm_up_n_t buffer;
    gm_u16_n_t ip_checksum;
    gm_u16_n_t ip_header_len;
    gm_u32_n_t length;
    gm_u16_n_t sender_node_id;
    gm_u8_n_t flags;
    gm_u8_n_t _reserved_after_flags;
    gm_u8_n_t tag;
    gm_u8_n_t size;
    gm_u8_n_t sender_port_id;
    gm_u8_n_t type;
} gm_ethernet_recv_t;

typedef union gm_recv_event {
    gm_recv_t recv;
    gm_sent_t sent;
    gm_failed_send_event_t failed_send;
    gm_flushed_alarm_t flushed_alarm;
    gm_tokens_sent_t tokens_sent;
    gm_fatal_firmware_error_t fatal_firmware_error;
    gm_ethernet_recv_t ethernet_recv;
} gm_recv_event_t;

#define GM_RECV_EVENT_TYPE(e) (gm_ntoh_u8((e)->recv.type))

#endif
