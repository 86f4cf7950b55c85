/*
 * lapis_transport.h: the interface between Lapis and transport plugins written in C.
 *
 * docs/plugin-abi.md explains it, docs/writing-a-transport.md is a tutorial, examples/plugins/c-echo is a complete plugin.
 * A test of Lapis compares every size, offset and number in here with its own.
 *
 * A plugin named NAME is a file liblapis_NAME.so that exports one function, lapis_transport_NAME_v1.
 */
#ifndef LAPIS_TRANSPORT_H
#define LAPIS_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAPIS_TRANSPORT_MAGIC UINT64_C(0x017254736970614c)
#define LAPIS_ABI_MAJOR 1u
#define LAPIS_ABI_MINOR 14u
/* Changes when a struct below changes, which makes a new major version. Right for 64-bit targets. */
#define LAPIS_LAYOUT_HASH UINT64_C(0x517a40b892675b1b)

#define LAPIS_MAX_ADDRESS 512

/* Capabilities: operations. A bit is set exactly when the entries of that name are not null. Bits 2, 3, 5 and 7 are
   free since minor 6: leave them clear. */
#define LAPIS_CAP_AM_SHORT   (UINT64_C(1) << 0)
#define LAPIS_CAP_AM_PACKED  (UINT64_C(1) << 1)
#define LAPIS_CAP_PUT_ZCOPY  (UINT64_C(1) << 4)
#define LAPIS_CAP_GET_ZCOPY  (UINT64_C(1) << 6)
#define LAPIS_CAP_DATAGRAM   (UINT64_C(1) << 8)  /* send_datagrams */
#define LAPIS_CAP_REGISTER   (UINT64_C(1) << 9)  /* mem_register */
#define LAPIS_CAP_ALLOCATE   (UINT64_C(1) << 10) /* mem_alloc */
#define LAPIS_CAP_WINDOW     (UINT64_C(1) << 11)
#define LAPIS_CAP_WAIT       (UINT64_C(1) << 12) /* arm, wait, wake, wait_fd */
#define LAPIS_CAP_LANES      (UINT64_C(1) << 13) /* send_lane, receive_lanes, attend */
#define LAPIS_CAP_PREFER_RAIL (UINT64_C(1) << 14)
#define LAPIS_CAP_PUT_SHORT   (UINT64_C(1) << 15)
/* Capabilities: promises. */
#define LAPIS_CAP_RELIABLE     (UINT64_C(1) << 32)
#define LAPIS_CAP_ORDERED      (UINT64_C(1) << 33)
#define LAPIS_CAP_ANY_ADDRESS  (UINT64_C(1) << 34)
#define LAPIS_CAP_PEER_FAILURE (UINT64_C(1) << 35)
#define LAPIS_CAP_SELF_ONLY    (UINT64_C(1) << 36)
#define LAPIS_CAP_LOCAL_ONLY   (UINT64_C(1) << 37)
#define LAPIS_CAP_LENT_PAGES   (UINT64_C(1) << 38) /* takes LAPIS_BATCH_LENT */
#define LAPIS_CAP_FAST_PACKETS (UINT64_C(1) << 39) /* packets beat the target's zero-copy get */
#define LAPIS_CAP_LATE_CONTACT (UINT64_C(1) << 40) /* contact with a peer is established when needed; send_lane: null until then */
#define LAPIS_CAP_QUIET_POLLS  (UINT64_C(1) << 41) /* polls that find nothing make no system call, except for one in 1000 */

/* What calls answer. Data-path calls: DONE, IN_PROGRESS, AGAIN or an error; set-up calls: DONE (or AGAIN) or an error. */
enum {
    LAPIS_DONE = 0,         /* finished */
    LAPIS_IN_PROGRESS = 1,  /* accepted; an event with the token follows */
    LAPIS_AGAIN = 2,        /* no room now: poll and try again */
    LAPIS_UNSUPPORTED = -1, /* not wired */
    LAPIS_INVALID = -2,     /* over a limit, unknown peer, bad argument */
    LAPIS_UNREACHABLE = -3, /* set-up: this transport can't reach that peer */
    LAPIS_PEER_DOWN = -4,   /* data path: the peer is gone */
    LAPIS_EXHAUSTED = -5,   /* set-up: a resource ran out */
    LAPIS_IO = -6,          /* the operating system refused */
    LAPIS_PANICKED = -7     /* the instance is broken */
};

/* Kinds of events. */
enum {
    LAPIS_EVENT_MESSAGE = 0,   /* data, len from peer */
    LAPIS_EVENT_COMPLETE = 1,  /* the operation of token ended with status */
    LAPIS_EVENT_PEER_DOWN = 2, /* peer is gone */
    LAPIS_EVENT_DATAGRAM = 3,  /* data, len over path token */
    LAPIS_EVENT_PATH = 4,      /* path token to peer: status 1 up, 0 down; len its datagram size */
    LAPIS_EVENT_OVERFLOW = 5,  /* the kernel had no room for len datagrams */
    LAPIS_EVENT_FAILOVER = 6   /* paths can't replace each other: status is a LAPIS_FAILOVER_ number, data and len the details in UTF-8 */
};

/* What peers do with memory that is lent to them. */
enum {
    LAPIS_ACCESS_READ = 1, /* they read it */
    LAPIS_ACCESS_WRITE = 2 /* they write it */
};

/* What may be wrong with failover. */
enum {
    LAPIS_FAILOVER_SET_UP = 0,    /* setting it up failed */
    LAPIS_FAILOVER_UNWATCHED = 1, /* the state of the links is unknown: a failed path is noticed only by its silence */
    LAPIS_FAILOVER_HALTED = 2     /* it has stopped working, perhaps temporarily */
};

/* A buffer of the caller's for saying why a call failed: UTF-8, not terminated. May be a null pointer. */
typedef struct {
    uint8_t *buf;
    uint32_t capacity;
    uint32_t len;
} lapis_error_text;

typedef struct {
    uint8_t *ptr;
    size_t len;
} lapis_slice;

typedef struct {
    uint64_t addr;
    uint64_t key;
} lapis_remote_addr;

typedef struct {
    uint64_t addr;
    uint64_t len;
    uint64_t id;
    uint64_t key;
} lapis_region_info;

/* The traffic of one rail of an instance so far, and its state. Bytes are those of messages and of transfers. */
typedef struct {
    uint32_t number;
    uint32_t up;    /* 0: its link is down, or it is closed */
    uint32_t peers; /* to which it leads */
    uint32_t left;  /* those of them for which it is not used at present */
    uint64_t messages_sent;
    uint64_t messages_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t transfers; /* puts and gets of this task, or pieces of them, that have succeeded */
    uint64_t renewals;  /* how often it has been closed in order to be reopened */
} lapis_rail_report;

typedef struct {
    uint64_t remote_base;
    uint64_t len;
    uint8_t *local_base;
} lapis_window;

typedef struct {
    uint32_t peer;
    uint32_t path; /* LAPIS_BATCH_LENT may be added where the instance has LAPIS_CAP_LENT_PAGES */
    const lapis_slice *slices;
    uint32_t count;
    uint32_t segment;
} lapis_datagram_batch;

/* Since minor 2: slices of LAPIS_LENT_FROM bytes and more stay as they are until their datagram has been acknowledged, and may
 * be referred to; shorter ones are copied. */
#define LAPIS_BATCH_LENT (UINT32_C(1) << 31)
#define LAPIS_LENT_FROM  4096u

typedef struct {
    uint32_t kind;
    uint32_t peer;
    uint8_t *data;
    uint32_t len;
    int32_t status;
    uint64_t token;
} lapis_event;

typedef struct {
    uint32_t max_short;
    uint32_t max_packed;
    uint32_t max_head; /* not used any more: 0 */
    uint32_t receive_buffer;
    uint64_t max_zcopy;
    uint64_t zcopy_from;
    uint32_t paths;
    uint32_t max_peers;
} lapis_limits;

typedef struct {
    uint64_t caps;
    lapis_limits limits;
} lapis_attributes;

typedef struct {
    uint32_t struct_size;
    uint32_t task;
    uint32_t tasks;
    uint32_t context;
    uint32_t incarnation;
    uint32_t interrupts;
    const uint8_t *job;
    size_t job_len;
    const uint8_t *secret; /* 32 bytes; never log them */
} lapis_open_params;

/* What the host offers. Lives as long as the process. Levels: 1 error, 2 warning, 3 info, 4 debug, 5 trace. */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_major;
    void (*log)(uint32_t level, const uint8_t *target, size_t target_len, const uint8_t *text, size_t text_len);
    int32_t (*log_enabled)(uint32_t level, const uint8_t *target, size_t target_len);
    /* Length of the value, or -1 when it is not set; writes at most capacity bytes. */
    ptrdiff_t (*option)(const uint8_t *name, size_t name_len, uint8_t *buf, size_t capacity);
} lapis_host_table;

typedef struct {
    uint64_t magic;
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t layout_hash;
    const char *name;
    const char *version;
} lapis_table_head;

/* Since minor 3: a line of 64 bytes that two tasks write alternately, beside their lanes. Number of the message (32 bits, both sides' messages
   are counted), its length (8 bits), the low 24 bits of the writer's position in its lane, then up to 56 bytes of message. The first 8
   bytes are written last, in one store; the line begins as zeros, and one side begins. */
typedef struct {
    uint8_t *line;
    uint64_t number; /* of the last message that was written or read; others may read it */
    uint32_t ours;   /* not 0: this side may write */
} lapis_mailbox;

/* Since minor 5: the data ring of a lane, for messages of more than 184 bytes. Both ends compute from the lengths alone where a
   message is. It begins at a multiple of 64 bytes and does not wrap: at the next position, a, modulo size, unless it would pass the
   end of the part that messages of its length keep to (or of the ring, if a is beyond that part); then at the next multiple of size.
   Since minor 13: if the highest bit of the length in the slot is set, 1024 more bytes of the ring, behind it, belong to it. */
typedef struct {
    size_t below; /* of messages shorter than this */
    size_t part;  /* the bytes that they keep to, from the ring's beginning on */
} lapis_ring_class;

typedef struct {
    size_t size;             /* a power of two; 0: no ring. No message is longer than a quarter */
    lapis_ring_class small; /* looked at first; longer messages than medium's take all of the ring */
    lapis_ring_class medium;
    size_t kept; /* the reader gives bytes back when it has read so many */
} lapis_ring_layout;

typedef struct {
    uint8_t *area;
    uint64_t next;  /* position of the next message; grows for ever */
    uint64_t limit; /* the first position that may not be written yet, as far as the transport has looked */
    lapis_ring_layout layout;
    size_t longest; /* message that the receiver takes; 0: none */
    uint32_t far; /* 0: never; else from so many bytes on, 1024 at least, messages are stored past the caches */
    uint64_t straight; /* core's own: 0 at first. Since minor 11 */
} lapis_data_out;

typedef struct {
    const uint8_t *area;
    uint64_t next;
    uint64_t released; /* the last position that was stored at tail */
    uint64_t *tail;    /* where the sender reads the position up to which it may write again; null: no ring */
    lapis_ring_layout layout;
    size_t longest; /* message that core takes; 0: none */
    uint64_t straight; /* core's own: 0 at first. Since minor 11 */
} lapis_data_in;

/* Lanes (LAPIS_CAP_LANES). A slot is 192 bytes: the low half of the message's position plus one (32 bits), its length
   (32 bits), up to 184 bytes of message; a longer one lies in the data ring. The first 8 bytes are written last, in one store.
   The message at position p is in slot g ^ (g >> 1), where g is p & mask. */
typedef struct {
    uint8_t *slots;
    uint64_t mask;     /* number of slots, a power of two and at most 256, minus one */
    uint64_t position; /* of the next message */
    uint64_t limit;    /* position == limit: full as far as was looked, or closed */
    const uint32_t *attention; /* read after each message; anything but 0 is for attend */
    lapis_mailbox *mailbox;    /* shared with the receiver; null: none. Since minor 3 */
    const uint64_t *tail;      /* what the receiver gives back: limit is this and the number of slots; null: only the transport looks */
    lapis_data_out data;
} lapis_send_lane;

typedef struct {
    const uint8_t *slots;
    uint64_t mask;
    uint64_t position;
    uint64_t due;   /* whoever looks for the message at this position, or a later one, gives back the slots before it */
    uint64_t *told; /* where core stores the position */
    uint32_t peer;
    lapis_mailbox *mailbox; /* shared with the sender; null: none. Since minor 3 */
    uint64_t *tail;         /* where the sender is told what is given back */
    lapis_data_in data;
} lapis_receive_lane;

typedef struct {
    lapis_receive_lane *lanes[8];
    uint32_t count; /* 0: the transport does all the reading */
} lapis_receive_lanes;

/* Since minor 4: what a transport declares. All of it is static. */

/* UTF-8, not terminated. A null pointer is an absent text. */
typedef struct {
    const uint8_t *ptr;
    size_t len;
} lapis_text;

/* The text of a string literal, in an initializer. */
#define LAPIS_TEXT(literal) { (const uint8_t *)(literal), sizeof(literal) - 1 }

/* When a transport is used without being named. */
enum {
    LAPIS_USE_ALWAYS = 0,     /* for the peers that it reaches */
    LAPIS_USE_IP = 1,         /* with MP_EUILIB=ip, the default */
    LAPIS_USE_USER_SPACE = 2, /* with MP_EUILIB=us */
    LAPIS_USE_NAMED = 3       /* never */
};

/* What a variable takes. */
enum {
    LAPIS_KIND_NUMBER = 0, /* from min to max, in unit */
    LAPIS_KIND_YES_NO = 1,
    LAPIS_KIND_WORDS = 2, /* one of words, in upper or lower case */
    LAPIS_KIND_TEXT = 3   /* anything */
};
enum { LAPIS_UNIT_BYTES = 0, LAPIS_UNIT_COUNT = 1, LAPIS_UNIT_SECONDS = 2, LAPIS_UNIT_MICROSECONDS = 3 };

/* A variable of the transport's own. Core checks its value before anything is opened; ask for it by the host's option. */
typedef struct {
    lapis_text name;          /* capital letters, digits, underlines; begin it with LAPIS_ and the transport's name */
    lapis_text default_value; /* as one would write it; absent: none */
    lapis_text help;          /* one line, no full stop */
    lapis_text more;          /* may be absent */
    lapis_text source;        /* where it is defined; may be absent */
    lapis_text words;         /* LAPIS_KIND_WORDS: with | between them */
    uint64_t min;
    uint64_t max;
    uint32_t kind;
    uint32_t unit;
    int32_t code;      /* the LAPI code of a bad value; 0: LAPI_ERR_SET_VAL */
    uint32_t reserved; /* 0 */
} lapis_variable;

typedef struct {
    uint32_t struct_size;   /* sizeof(lapis_declaration) */
    uint32_t variable_size; /* sizeof(lapis_variable) */
    uint32_t cost_ns;       /* of a short message from task to task: the cheaper one of two is used */
    uint32_t usage;
    const lapis_variable *variables;
    uint32_t count;
    uint32_t reserved; /* 0 */
} lapis_declaration;

/* Writes len bytes at the place the transport gives. */
typedef void (*lapis_pack_fn)(void *arg, uint8_t *into, size_t len);

typedef struct {
    lapis_table_head head;
    uint64_t caps;
    /* Set-up. */
    int32_t (*open)(const lapis_host_table *host, const lapis_open_params *params, void **instance,
                    lapis_error_text *error);
    void (*close)(void *instance);
    int32_t (*attributes)(void *instance, lapis_attributes *out, lapis_error_text *note);
    int32_t (*address)(void *instance, uint8_t *buf, uint32_t capacity); /* its length, or an error */
    int32_t (*connect)(void *instance, uint32_t peer, const uint8_t *address, uint32_t len,
                       lapis_error_text *error);
    int32_t (*progress_connect)(void *instance, lapis_error_text *error); /* AGAIN while something is pending */
    void (*disconnect)(void *instance, uint32_t peer);
    int32_t (*mem_register)(void *instance, lapis_slice range, lapis_region_info *out, lapis_error_text *error);
    int32_t (*mem_alloc)(void *instance, size_t len, lapis_region_info *out, lapis_error_text *error);
    void (*mem_release)(void *instance, uint64_t id);
    int32_t (*window)(void *instance, uint32_t peer, lapis_window *out); /* UNREACHABLE: there is none */
    /* Data path. */
    int32_t (*am_short)(void *instance, uint32_t peer, const uint8_t *head, uint32_t head_len, const uint8_t *body,
                        uint32_t body_len);
    int32_t (*am_packed)(void *instance, uint32_t peer, size_t len, lapis_pack_fn pack, void *arg);
    void (*was_am_zcopy)(void); /* retired, like all entries whose names begin with was_: not called; null */
    void (*was_put_short)(void);
    void (*was_get_short)(void);
    int32_t (*put_zcopy)(void *instance, uint32_t peer, lapis_slice data, lapis_remote_addr remote, uint64_t token);
    int32_t (*get_zcopy)(void *instance, uint32_t peer, lapis_slice into, lapis_remote_addr remote, uint64_t token);
    void (*was_rmw)(void);
    int32_t (*send_datagrams)(void *instance, const lapis_datagram_batch *batches, uint32_t count); /* how many */
    int32_t (*poll)(void *instance, lapis_event *events, uint32_t capacity);                        /* how many */
    void (*flush)(void *instance); /* not called any more; may be null since minor 4 */
    int32_t (*arm)(void *instance);
    void (*disarm)(void *instance);
    void (*set_interrupts)(void *instance, int32_t on);
    /* From any thread. */
    void (*wait)(void *instance, uint64_t timeout_ns);
    void (*wake)(void *instance);
    int32_t (*wait_fd)(void *instance); /* -1: none */
    /* Since minor 1: short messages that core writes and reads in place. */
    lapis_send_lane *(*send_lane)(void *instance, uint32_t peer); /* null: none */
    const lapis_receive_lanes *(*receive_lanes)(void *instance);  /* null: none */
    int32_t (*attend)(void *instance, uint32_t peer, uint32_t attention);
    /* Since minor 4: what the transport declares before it is opened; null: nothing. */
    const lapis_declaration *declaration;
    /* Since minor 8: fills reports of rails, at most capacity; returns how many. May be null. */
    int32_t (*rails)(void *instance, lapis_rail_report *reports, uint32_t capacity);
    /* Since minor 9: the rail, from 0, that the next put_zcopy or get_zcopy should take. */
    void (*prefer_rail)(void *instance, uint32_t rail);
    /* Since minor 10: up to 64 bytes, copied before return, that no active message accepted after them overtakes. */
    int32_t (*put_short)(void *instance, uint32_t peer, const uint8_t *data, uint32_t len, lapis_remote_addr remote);
    /* Since minor 14: mem_register for one transfer, in which peers have this LAPIS_ACCESS_ alone. May be null. */
    int32_t (*mem_lend)(void *instance, lapis_slice range, uint32_t access, lapis_region_info *out,
                        lapis_error_text *error);
} lapis_transport_ops;

/* The one symbol of a plugin. Stores its table and returns LAPIS_DONE, or returns why it can't work with this host. */
typedef int32_t (*lapis_entry_fn)(const lapis_host_table *host, const lapis_transport_ops **table);

#ifdef __cplusplus
}
#endif

#endif
