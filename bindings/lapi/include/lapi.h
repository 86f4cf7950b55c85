/*
 * lapi.h: the C interface of LAPI, as the LAPI Programming Guide defines it, implemented by Lapis.
 *
 * Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
 */
#ifndef LAPI_H
#define LAPI_H

#include <netinet/in.h>
#include <pthread.h>
#include <strings.h>
#include <sys/types.h>

/* Strict ISO modes hide two type names that LAPI's prototypes use. */
#if defined(__GLIBC__) ? !defined(__USE_MISC) : defined(__STRICT_ANSI__)
typedef unsigned int uint;
typedef unsigned long ulong;
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct timespec;

/*
 * Basic types
 * (LAPI Guide, appendices E and F)
 */

/* Names a LAPI context (an instance of LAPI in this task). */
typedef uint lapi_handle_t;

/* An address or length wide enough for 64-bit tasks, in 32-bit tasks too; always 8-aligned. */
typedef unsigned long long lapi_long_t __attribute__((aligned(8)));

/* The length of a message. */
typedef ulong lapi_msglen_t;

/* Reserved for a status that future versions return. */
typedef int lapi_status_t;

/* A remote context of later releases of LAPI. Opaque; no call takes one here. */
typedef uint lapi_user_cxt_t;

/* What later releases of LAPI describe a remote context with. Opaque; no call takes one here. */
typedef lapi_long_t lapi_remote_cxt_t;

/* For debugging only; set it to NULL. */
typedef void *lapi_usr_fcall_t;

/* A counter. Set it with LAPI_Setcntr before its first use, and leave its fields to LAPI. */
typedef struct {
    int value;         /* current value */
    uint state;        /* used by LAPI */
    ulong reserved[2]; /* used by LAPI */
} lapi_cntr_t;

/* The longest message: 0x7fffffff bytes in 32-bit tasks, 0x7fffffffffffffff in 64-bit tasks. */
#define LAPI_MAX_MSG_SZ (~0ul >> 1)
#define LAPI_MAX_ERR_STRING        160 /* The size of the buffer that LAPI_Msg_string fills. */
#define LAPI_ADDR_NULL             ((void *)0) /* What Fortran programs pass where C programs pass NULL. */
#define LAPI_MAX_NODES             2048 /* The most nodes that a job can have. */
#define LAPI_MAX_TASKS             16384 /* The most tasks that a job can have. */
#define LAPI_MAX_SHM_TASKS         128 /* The most tasks of a node that can share memory. */
#define LAPI_MAX_SLOTS_PER_TASK    128 /* The most shared memory slots that a task can have. */

/*
 * Return codes
 * (LAPI Guide, appendix C)
 */

#define LAPI_SUCCESS                      0   /* The call completed successfully. */
#define LAPI_ERR_UNKNOWN                  400 /* An internal communication error occurred outside of any call. */
#define LAPI_ERR_ALL_HNDL_IN_USE          401 /* Every LAPI instance that a task may have is already in use. */
#define LAPI_ERR_BOTH_NETSTR_SET          402 /* Both an IP and a user-space network statement are set for one LAPI instance. */
#define LAPI_ERR_CSS_LOAD_FAILED          404 /* The library or plugin that carries the communication could not be loaded. */
#define LAPI_ERR_INFO_NULL                405 /* The pointer to the lapi_info_t structure is NULL. */
#define LAPI_ERR_MSG_API                  406 /* The environment variable MP_MSG_API has a value that LAPI does not know. */
#define LAPI_ERR_NO_NETSTR_SET            407 /* No network statement is set, or MP_MSG_API does not provide for LAPI. */
#define LAPI_ERR_NO_UDP_HNDLR             408 /* A user-defined UDP handler was announced, but neither a handler nor a list of addresses was given. */
#define LAPI_ERR_HDR_HNDLR_NULL           409 /* An active message arrived whose header handler is NULL. */
#define LAPI_ERR_PSS_NON_ROOT             410 /* Only root may initialize the persistent subsystem. */
#define LAPI_ERR_SHM_KE_NOT_LOADED        412 /* The system support that shared memory needs is not available. */
#define LAPI_ERR_TIMEOUT                  413 /* A task did not acknowledge packets within the timeout. */
#define LAPI_ERR_REG_TIMER                414 /* The timer could not be armed again. */
#define LAPI_ERR_UDP_PKT_SZ               415 /* The UDP packet size is outside its range. */
#define LAPI_ERR_USER_UDP_HNDLR_FAIL      416 /* The user-defined UDP handler reported a failure. */
#define LAPI_ERR_HNDL_INVALID             417 /* The handle is not one of an initialized LAPI instance. */
#define LAPI_ERR_RET_PTR_NULL             418 /* The pointer to where the result belongs is NULL. */
#define LAPI_ERR_ADDR_HNDL_RANGE          419 /* The index into the address table is out of range. */
#define LAPI_ERR_ADDR_TBL_NULL            420 /* The pointer to the table that receives the addresses is NULL. */
#define LAPI_ERR_TGT_PURGED               421 /* The target task has been purged. */
#define LAPI_ERR_MULTIPLE_WAITERS         422 /* Another thread is already waiting for this counter. */
#define LAPI_ERR_MEMORY_EXHAUSTED         423 /* LAPI could not allocate the memory it needs. */
#define LAPI_ERR_INFO_NONZERO             424 /* Reserved fields of the lapi_info_t structure are not zero. */
#define LAPI_ERR_ORG_ADDR_NULL            425 /* The address of the data at the origin is NULL. */
#define LAPI_ERR_TGT_ADDR_NULL            426 /* The address of the data at the target is NULL. */
#define LAPI_ERR_DATA_LEN                 427 /* The data length exceeds the largest message that LAPI transfers. */
#define LAPI_ERR_TGT                      428 /* The target is not a task of this job. */
#define LAPI_ERR_UHDR_NULL                429 /* The user header is NULL although its length is greater than 0. */
#define LAPI_ERR_UHDR_LEN                 430 /* The user header is longer than MAX_UHDR_SZ. */
#define LAPI_ERR_HDR_LEN                  431 /* The length of the user header is not aligned. */
#define LAPI_ERR_ORG_EXTENT               432 /* The vector at the origin spans more than the largest message. */
#define LAPI_ERR_ORG_STRIDE               433 /* The stride of the vector at the origin is smaller than its block. */
#define LAPI_ERR_NO_CONNECTIVITY          434 /* No path leads to the task. */
#define LAPI_ERR_ADAPTERS_DOWN            435 /* All network adapters are down. */
#define LAPI_ERR_RECV_INCOMP              436 /* A receive operation did not complete. */
#define LAPI_ERR_SEND_INCOMP              437 /* A send operation did not complete. */
#define LAPI_ERR_SEND_TIMEOUT             438 /* A send operation did not complete within the timeout. */
#define LAPI_ERR_SHM_SETUP                439 /* Shared memory could not be set up. */
#define LAPI_ERR_ORG_VEC_ADDR             440 /* An address in the vector at the origin is NULL although its length is greater than 0. */
#define LAPI_ERR_ORG_VEC_LEN              441 /* The vector at the origin describes more data than the largest message. */
#define LAPI_ERR_ORG_VEC_NULL             442 /* The pointer to the vector at the origin is NULL. */
#define LAPI_ERR_ORG_VEC_TYPE             443 /* The type of the vector at the origin is not valid. */
#define LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL 444 /* The base address of the strided vector at the origin is NULL. */
#define LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL 445 /* The base address of the strided vector at the target is NULL. */
#define LAPI_ERR_TGT_EXTENT               446 /* The vector at the target spans more than the largest message. */
#define LAPI_ERR_TGT_STRIDE               447 /* The stride of the vector at the target is smaller than its block. */
#define LAPI_ERR_TGT_VEC_ADDR             448 /* An address in the vector at the target is NULL although its length is greater than 0. */
#define LAPI_ERR_TGT_VEC_LEN              449 /* The vector at the target describes more data than the largest message. */
#define LAPI_ERR_TGT_VEC_NULL             451 /* The pointer to the vector at the target is NULL. */
#define LAPI_ERR_TGT_VEC_TYPE             452 /* The type of the vector at the target is not valid. */
#define LAPI_ERR_VEC_NUM_DIFF             453 /* The vectors at origin and target differ in their number of elements. */
#define LAPI_ERR_VEC_TYPE_DIFF            454 /* The vectors at origin and target differ in type. */
#define LAPI_ERR_VEC_LEN_DIFF             455 /* The vectors at origin and target differ in the length of an element. */
#define LAPI_ERR_MSG_INFO_NULL            456 /* The info pointer given to LAPI_Msgpoll is NULL. */
#define LAPI_ERR_CNTR_NULL                458 /* The pointer to the counter is NULL. */
#define LAPI_ERR_CNTR_VAL                 459 /* The counter value to wait for is not greater than 0. */
#define LAPI_ERR_QUERY_TYPE               460 /* The runtime attribute is not known or cannot be used with this call. */
#define LAPI_ERR_IN_VAL_NULL              461 /* The pointer to the input value of the read-modify-write operation is NULL. */
#define LAPI_ERR_RMW_OP                   462 /* The read-modify-write operation is not one that LAPI knows. */
#define LAPI_ERR_TGT_VAR_NULL             463 /* The address of the variable of the read-modify-write operation is NULL. */
#define LAPI_ERR_SET_VAL                  464 /* The value is outside the range of what it sets. */
#define LAPI_ERR_DGSP                     465 /* The DGSP is NULL or not registered. */
#define LAPI_ERR_DGSP_ATOM                466 /* The atom size of the DGSP is not valid. */
#define LAPI_ERR_DGSP_BRANCH              467 /* The DGSP branches to a place outside of its code. */
#define LAPI_ERR_DGSP_CTL                 468 /* A CONTROL instruction of the DGSP is malformed. */
#define LAPI_ERR_DGSP_COPY_SZ             469 /* A copy length in the DGSP is not valid. */
#define LAPI_ERR_DGSP_FREE                470 /* The DGSP cannot be freed: it is not reserved. */
#define LAPI_ERR_DGSP_OPC                 471 /* The DGSP contains an unknown instruction. */
#define LAPI_ERR_DGSP_REPS                472 /* A repetition count in the DGSP is less than 0. */
#define LAPI_ERR_DGSP_STACK               473 /* The DGSP needs a deeper stack than its depth declares. */
#define LAPI_ERR_OP_SZ                    474 /* The size of the read-modify-write transfer is neither 32 nor 64. */
#define LAPI_ERR_UDP_PORT_INFO            475 /* The pointer to the UDP port information is NULL. */
#define LAPI_ERR_XFER_CMD                 476 /* The transfer type given to LAPI_Xfer is not known. */
#define LAPI_ERR_UTIL_CMD                 477 /* The command given to LAPI_Util is not known. */
#define LAPI_ERR_CATALOG_FAIL             478 /* The message catalog could not be opened. */
#define LAPI_ERR_PACK_SZ                  479 /* The buffer to pack into, or to unpack from, is too small. */
#define LAPI_ERR_DGSP_OTHER               480 /* The DGSP is malformed, for instance by an empty code. */
#define LAPI_ERR_UDP_SOCKET               481 /* An operation on a UDP socket failed. */
#define LAPI_ERR_COLLECTIVE_PSS           482 /* The persistent subsystem may not make collective calls. */
#define LAPI_ERR_TGT_CONTEXT              492 /* The remote context of the target is not valid. */
#define LAPI_ERR_SRC_CONTEXT              493 /* The remote context of the source is not valid. */
#define LAPI_ERR_TGT_BUFHNDL              494 /* The buffer handle of the target is not valid. */
#define LAPI_ERR_SRC_BUFHNDL              495 /* The buffer handle of the source is not valid. */
#define LAPI_ERR_TGT_OFFSET               496 /* The offset into the target's buffer is not valid. */
#define LAPI_ERR_SRC_OFFSET               497 /* The offset into the source's buffer is not valid. */
#define LAPI_ERR_NO_RDMA_RESOURCE         498 /* No resources for remote direct memory access are available. */
#define LAPI_ERR_NO_ENV_VAR               510 /* An environment variable that LAPI requires is not set. */
#define LAPI_ERR_CODE_UNKNOWN             511 /* The code is not one of LAPI's. */
#define LAPI_ERR_INFO_NONZERO_INFO        LAPI_ERR_INFO_NONZERO
/* Attention messages: LAPI_Msg_string knows their texts. */
#define LAPI_ATTN_FAILOVER_INTERNAL       485 /* Failover is not available: setting it up met an internal error. */
#define LAPI_ATTN_FAILOVER_NO_NAM         486 /* Failover is not available: nothing reports the state of the network adapters. */
#define LAPI_ATTN_FAILOVER_NO_GROUP       487 /* Failover is not available: the group services are not installed. */
#define LAPI_ATTN_FAILOVER_OLD_POE        488 /* Failover is not available: the launcher is too old. */
#define LAPI_ATTN_FAILOVER_NO_POE         489 /* Failover is not available: the job was not started by a launcher that supports it. */
#define LAPI_ATTN_FAILOVER_DEVICE         490 /* Failover is not available: the job uses a network device without support for it. */
#define LAPI_ATTN_FAILOVER_HALTED         491 /* Failover has halted. */
#define LAPI_ATTN_BULK_ENABLED            499 /* Bulk transfer is on. */
#define LAPI_ATTN_TASK_TIMEOUT            500 /* Tasks do not hear from one another; waiting for acknowledgements goes on. */
#define LAPI_ATTN_VERSION                 501 /* The version of the LAPI library. */
#define LAPI_ATTN_SHM_INIT                502 /* Shared memory could not be initialized; the network is used instead. */
#define LAPI_ATTN_SHM_RESTART             503 /* Shared memory could not be initialized when restarting from a checkpoint. */
#define LAPI_ATTN_SHM_ONE_TASK            504 /* Shared memory is not used because only one task runs on this node. */
#define LAPI_ATTN_SHM_CREATE              505 /* This task could not create its shared memory. */
#define LAPI_ATTN_SHM_GET                 506 /* This task could not obtain the shared memory of another task. */
#define LAPI_ATTN_SHM_ATTACH              507 /* This task could not map the shared memory of another task. */
#define LAPI_ATTN_SHM_RESERVE             508 /* This task could not reserve address space for shared memory. */
#define LAPI_ATTN_FIRST_CONTACT           509 /* First communication over this port. */

/*
 * Handlers
 * (LAPI Guide, "LAPI handlers", LAPI_Amsend, LAPI_Amsendv, LAPI_Xfer)
 */

/* Runs at the target when a message has arrived whole, or at the origin when a get is complete. */
typedef void (compl_hndlr_t)(lapi_handle_t *hndl, void *user_info);

/*
 * Runs at the target when the first packet of a message arrives; returns where the data go.
 * msg_len points to the first field of a lapi_return_info_t.
 */
typedef void *(hdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **comp_h, void **user_info);

/* What a send completion handler learns. */
typedef struct {
    uint src;         /* the target task of the transfer */
    uint reason;      /* LAPI_SUCCESS or why the transfer failed */
    ulong reserve[6]; /* reserved */
} lapi_sh_info_t;

/* Runs at the origin when the data of a transfer may be changed again. */
typedef void (scompl_hndlr_t)(lapi_handle_t *hndl, void *completion_param, lapi_sh_info_t *info);

/* Combines arriving data with the data in place; returns how many bytes it processed. */
typedef long (ddm_func_t)(void *in, void *inout, long bytes, int operand, int operation);

/* Where an asynchronous error arose. */
typedef enum {
    LAPI_INTERNAL_ERROR = 0,      /* in LAPI itself */
    LAPI_COMMUNICATION_ERROR = 1, /* between this task and another */
    LAPI_USER_ERROR = 2           /* in what the program passed */
} lapi_err_t;

/* Hears of asynchronous errors. If it returns, the job goes on. */
typedef void (*LAPI_err_hndlr)(lapi_handle_t *hndl, int *error_code, lapi_err_t *err_type,
                               int *task_id, int *src);

/*
 * Vectors
 * (LAPI Guide, "Vector transfer" and table 7)
 */

/* How a vector describes its data. */
typedef enum {
    LAPI_GEN_GENERIC = 0,      /* buffers; the two sides need not match (active messages only) */
    LAPI_GEN_IOVECTOR = 1,     /* buffers; the two sides match in number and lengths */
    LAPI_GEN_STRIDED_XFER = 2  /* equal blocks at equal distances */
} lapi_vectype_t;

#define LAPI_STRIDED_VECTOR        LAPI_GEN_STRIDED_XFER /* Another name of LAPI_GEN_STRIDED_XFER. */

/* A vector of this task's memory. Strided: info holds base address, block size and stride; len is not read. */
typedef struct {
    lapi_vectype_t vec_type; /* how the data are described */
    uint num_vecs;           /* how many buffers or blocks */
    void **info;             /* their addresses */
    ulong *len;              /* their lengths */
} lapi_vec_t;

/* The same with addresses and lengths of 64 bits, for the memory of a target that may be a 64-bit task. */
typedef struct {
    lapi_vectype_t vec_type; /* how the data are described */
    uint num_vecs;           /* how many buffers or blocks */
    lapi_long_t *info;       /* their addresses */
    lapi_long_t *len;        /* their lengths */
} lapi_lvec_t;

/* The header handler of a message sent with a vector: returns the vector that receives it. */
typedef lapi_vec_t *(vhdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len,
                                   ulong **len_vec, compl_hndlr_t **comp_h, void **user_info);

/*
 * Initialization
 * (LAPI Guide, LAPI_Init, "Standalone setup")
 */

/* What carries the communication of a context. */
typedef enum {
    LAPI_NO_DEV = 0,    /* nothing yet */
    LAPI_SELF_DEV = 1,  /* a job of one task */
    LAPI_SHM_DEV = 2,   /* shared memory alone */
    LAPI_UDP_DEV = 3,   /* UDP/IP */
    LAPI_HPS_DEV = 4,   /* adapter windows */
    LAPI_RDMA_DEV = 5,  /* a network with remote direct memory access */
    LAPI_OTHER_DEV = 6  /* another transport plugin */
} lapi_dev_t;

/* The version of the library that a program is written for. */
typedef enum {
    L1_LIB = 0,   /* basic functions (the default) */
    L2_LIB = 1,   /* counters as structures: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus */
    L3_LIB = 2,   /* as L2_LIB */
    L4_LIB = 3,   /* as L2_LIB */
    LAST_LIB = 4  /* everything: what new programs set */
} lapi_lib_t;

/* How LAPI creates its threads. */
typedef struct {
    pthread_attr_t *attr; /* attributes of the threads, or NULL */
    void *init_func;      /* void (*)(void *) that each thread calls first, or NULL */
    void *init_arg;       /* what init_func is given */
} com_thread_info_t;

/* Where a task receives UDP datagrams, both in network byte order. */
typedef struct {
    in_addr_t ip_addr; /* IP address */
    in_port_t port_no; /* port */
} lapi_udp_t;

/* What a user's UDP handler learns about the job. */
typedef struct {
    uint task_id;     /* this task */
    uint num_tasks;   /* how many entries the list of addresses has */
    uint instance_no; /* which network instance is asked for, from 0 */
    uint reserved;    /* reserved */
} lapi_udpinfo_t;

/* Distributes local_addr and fills in addr_list, one entry for each task. Returns 0, or anything else to fail. */
typedef int (udp_init_hndlr)(lapi_handle_t *hndl, lapi_udp_t *local_addr, lapi_udp_t *addr_list,
                             lapi_udpinfo_t *info);

/* How tasks that are started by hand learn each other's UDP addresses: by a handler, else by a list. */
typedef struct {
    udp_init_hndlr *udp_hndlr; /* handler, or NULL */
    lapi_udp_t *add_udp_addrs; /* list of addresses, one for each task, or NULL */
    int num_udp_addr;          /* length of the list; 0 for one entry for each task */
    int reserved;              /* set to 0 */
} lapi_extend_t;

/* What LAPI_Init is told. Zero it before setting any field. */
typedef struct {
    lapi_dev_t protocol;                 /* out: what carries the communication */
    lapi_lib_t lib_vers;                 /* library version that the program is written for */
    uint epoch_num;                      /* no longer used */
    int num_compl_hndlr_thr;             /* number of completion handler threads; 0 for the default */
    uint instance_no;                    /* instance of LAPI, 1 to 16; 0 for the next free one */
    int info6;                           /* reserved: must be 0 */
#ifdef __cplusplus
    LAPI_err_hndlr err_hndlr;            /* hears of asynchronous errors */
#else
    void *err_hndlr;                     /* hears of asynchronous errors */
#endif
    com_thread_info_t *lapi_thread_attr; /* how threads are created, or NULL */
    void *adapter_name;                  /* adapter of the persistent subsystem, or NULL */
    lapi_extend_t *add_info;             /* UDP addresses of tasks started by hand, or NULL */
} lapi_info_t;

/*
 * Runtime attributes and statistics
 * (LAPI Guide, LAPI_Qenv, LAPI_Senv, tables 44 to 46)
 */

/* Runtime attributes. */
typedef enum {
    TASK_ID = 0,                      /* number of this task */
    NUM_TASKS = 1,                    /* number of tasks in the job */
    MAX_UHDR_SZ = 2,                  /* longest user header, in bytes */
    MAX_DATA_SZ = 3,                  /* deprecated: use LAPI_MAX_MSG_SZ */
    ERROR_CHK = 4,                    /* parameter checking on or off (may be set) */
    TIMEOUT = 5,                      /* seconds until a silent task counts as unreachable (may be set) */
    MIN_TIMEOUT = 6,                  /* smallest TIMEOUT */
    MAX_TIMEOUT = 7,                  /* largest TIMEOUT */
    INTERRUPT_SET = 8,                /* interrupt mode on or off (may be set) */
    MAX_PORTS = 9,                    /* number of LAPI instances that a task can have */
    MAX_PKT_SZ = 10,                  /* bytes of header and data that a packet holds */
    NUM_REX_BUFS = 11,                /* number of retransmission buffers */
    REX_BUF_SZ = 12,                  /* size of a retransmission buffer, in bytes */
    LOC_ADDRTBL_SZ = 13,              /* entries in the table of LAPI_Addr_set */
    EPOCH_NUM = 14,                   /* no longer used */
    USE_THRESH = 15,                  /* no longer used */
    RCV_FIFO_SIZE = 16,               /* no longer used */
    MAX_ATOM_SIZE = 17,               /* largest atom of a DGSP, in bytes */
    BUF_CP_SIZE = 18,                 /* largest message that is copied at the origin, in bytes */
    MAX_PKTS_OUT = 19,                /* packets that can be in flight to one task */
    ACK_THRESHOLD = 20,               /* packets received before they are acknowledged (may be set) */
    QUERY_SHM_ENABLED = 21,           /* whether shared memory is used */
    QUERY_SHM_NUM_TASKS = 22,         /* number of tasks that are reached through shared memory */
    QUERY_SHM_TASKS = 23,             /* fills an array of NUM_TASKS integers with shared memory task IDs */
    QUERY_STATISTICS = 24,            /* fills a lapi_statistics_t for the network */
    PRINT_STATISTICS = 25,            /* prints the statistics on standard output */
    QUERY_SHM_STATISTICS = 26,        /* fills a lapi_statistics_t for shared memory */
    QUERY_LOCAL_SEND_STATISTICS = 27, /* fills a lapi_statistics_t for transfers within the task */
    BULK_XFER = 28,                   /* bulk transfer on or off */
    BULK_MIN_MSG_SIZE = 29,           /* smallest message for bulk transfer, in bytes */
    LAST_QUERY = 30                   /* one past the last attribute */
} lapi_query_t;

/* What has gone over one kind of path. */
typedef struct {
    lapi_long_t Tot_dup_pkt_cnt;     /* packets received more than once */
    lapi_long_t Tot_retrans_pkt_cnt; /* packets sent again */
    lapi_long_t Tot_gho_pkt_cnt;     /* ghost packets: too old to belong to a message */
    lapi_long_t Tot_pkt_sent_cnt;    /* packets sent */
    lapi_long_t Tot_pkt_rcv_cnt;     /* packets received */
    lapi_long_t Tot_data_sent;       /* bytes sent */
    lapi_long_t Tot_data_rcv;        /* bytes received */
} lapi_statistics_t;

/* What LAPI_Msgpoll saw: bits. When both kinds completed, all three completion bits are set. */
typedef enum {
    LAPI_DISP_CNTR = 1,     /* the given number of rounds passed without progress */
    LAPI_SEND_COMPLETE = 2, /* a send completed */
    LAPI_RECV_COMPLETE = 4, /* a receive completed */
    LAPI_BOTH_COMPLETE = 8, /* a send and a receive completed */
    LAPI_POLLING_NET = 16   /* another thread is polling already */
} lapi_msg_state_t;

/* The result of LAPI_Msgpoll. */
typedef struct {
    lapi_msg_state_t status; /* what happened */
    ulong reserve[10];       /* reserved */
} lapi_msg_info_t;

/* The state of a task that a counter waits for (LAPI_Setcntr_wstatus). */
typedef enum {
    LAPI_MSG_INITIAL = 0,     /* nothing received from it, or purged */
    LAPI_MSG_RECVD = 1,       /* received */
    LAPI_MSG_PURGED = 2,      /* purged before it was received */
    LAPI_MSG_PURGED_RCVD = 3, /* received, then purged */
    LAPI_MSG_INVALID = 4      /* was purged already */
} lapi_dest_status_t;

/*
 * Data gather/scatter programs
 * (LAPI Guide, "Using data gather/scatter programs (DGSPs)")
 */

/* How dense a layout is. */
typedef enum {
    LAPI_DGSM_SPARSE = 0, /* with gaps inside */
    LAPI_DGSM_CONTIG = 1, /* gaps only between repetitions */
    LAPI_DGSM_UNIT = 2    /* no gaps at all */
} lapi_dgsp_density_t;

/* A program and what it describes. */
typedef struct {
    int *code;                   /* the instructions */
    int code_size;               /* how many integers they take */
    int depth;                   /* how deep subroutines nest, the main routine included */
    lapi_dgsp_density_t density; /* how dense the layout is */
    long size;                   /* bytes that one application moves */
    long extent;                 /* distance from one application to the next */
    long lext;                   /* offset of the leftmost byte */
    long rext;                   /* offset just past the rightmost byte */
    int atom_size;               /* 0, or what every packet holds a multiple of */
} lapi_dgsp_descr_t;

/* A registered program; may be cast to lapi_dgsp_descr_t * for reading. */
typedef void *lapi_dg_handle_t;

/* The same, as a pointer to the registered description. */
typedef lapi_dgsp_descr_t *lapi_dgsp_handle_t;

/* Instructions. */
typedef enum {
    LAPI_DGSM_COPY = 1,    /* move one block */
    LAPI_DGSM_MCOPY = 2,   /* move several blocks */
    LAPI_DGSM_GOSUB = 3,   /* run a subroutine */
    LAPI_DGSM_ITERATE = 4, /* end of a routine */
    LAPI_DGSM_CONTROL = 5  /* pass copies to the DDM function, or stop to */
} lapi_dgsm_opcode_t;

/* A block of an MCOPY. */
typedef struct {
    long block_disp; /* where it starts */
    long block_len;  /* its length in bytes */
} lapi_dgsm_block_t;

/* COPY. */
typedef struct {
    int opcode;  /* LAPI_DGSM_COPY */
    int rsvd;    /* reserved */
    long bytes;  /* length of the block */
    long offset; /* where it starts */
} lapi_dgsm_copy_t;

/* MCOPY; count - 1 further blocks follow the first. */
typedef struct {
    int opcode;                 /* LAPI_DGSM_MCOPY */
    int count;                  /* number of blocks */
    lapi_dgsm_block_t block[1]; /* the blocks */
} lapi_dgsm_mcopy_t;

/* GOSUB; jumps are counted in integers from this instruction. */
typedef struct {
    int opcode;  /* LAPI_DGSM_GOSUB */
    int to_loc;  /* jump to the subroutine */
    int ret_loc; /* jump after it: normally LAPI_DGSM_GOSUB_SIZE */
    int rsvd;    /* reserved */
    long reps;   /* how often it runs */
    long offset; /* where it runs first */
    long stride; /* distance from one run to the next */
} lapi_dgsm_gosub_t;

/* ITERATE. */
typedef struct {
    int opcode;   /* LAPI_DGSM_ITERATE */
    int iter_loc; /* jump to the beginning of the routine: negative */
} lapi_dgsm_iterate_t;

/* CONTROL. */
typedef struct {
    int opcode;    /* LAPI_DGSM_CONTROL */
    int operation; /* passed to the DDM function; LAPI_DGSM_NO_CTL ends its use */
    int operand;   /* passed to the DDM function */
    int rsvd;      /* reserved */
} lapi_dgsm_control_t;

#define LAPI_DGSM_NO_CTL           (-1) /* The operation of a CONTROL that ends the use of the DDM function. */
/* Integers that a COPY takes. */
#define LAPI_DGSM_COPY_SIZE ((int)(sizeof(lapi_dgsm_copy_t) / sizeof(int)))
/* Integers that an MCOPY with one block takes. */
#define LAPI_DGSM_MCOPY_SIZE ((int)(sizeof(lapi_dgsm_mcopy_t) / sizeof(int)))
/* Integers that each further block takes. */
#define LAPI_DGSM_MCOPY_BLOCK_SIZE ((int)(sizeof(lapi_dgsm_block_t) / sizeof(int)))
/* Integers that a GOSUB takes. */
#define LAPI_DGSM_GOSUB_SIZE ((int)(sizeof(lapi_dgsm_gosub_t) / sizeof(int)))
/* Integers that an ITERATE takes. */
#define LAPI_DGSM_ITERATE_SIZE ((int)(sizeof(lapi_dgsm_iterate_t) / sizeof(int)))
/* Integers that a CONTROL takes. */
#define LAPI_DGSM_CONTROL_SIZE ((int)(sizeof(lapi_dgsm_control_t) / sizeof(int)))

/*
 * The enhanced header handler
 * (LAPI Guide, "The enhanced header handler interface")
 */

/* Where the completion handler of a message runs. */
typedef enum {
    LAPI_NORMAL = 0,      /* in a completion handler thread */
    LAPI_LOCAL_STATE = 1, /* in the receiving thread; it makes no LAPI calls */
    LAPI_SEND_REPLY = 2   /* in the receiving thread if a send is possible at once; it sends a reply */
} lapi_ret_flags_t;

/* What becomes of a message. */
typedef enum {
    LAPI_DELIVER_MSG = 0, /* its data are delivered */
    LAPI_BURY_MSG = 1,    /* it completes, but its data are not copied */
    LAPI_DROP_PKT = 2     /* the packet counts as lost and comes again */
} lapi_ctl_flags_t;

/* What a header handler's msg_len really points to. */
typedef struct {
    ulong msg_len;                /* in: length of the message */
    int MAGIC;                    /* in: do not change */
    lapi_ret_flags_t ret_flags;   /* out: where the completion handler runs */
    lapi_ctl_flags_t ctl_flags;   /* out: what becomes of the message */
    lapi_dg_handle_t dgsp_handle; /* out: layout of the data, or NULL for contiguous */
    ulong bytes;                  /* out: how much to deliver when a layout is given */
    int src;                      /* in: task that sent the message */
    void *udata_one_pkt_ptr;      /* in: the data, if they all came with this packet; else NULL */
} lapi_return_info_t;

/*
 * Transfers
 * (LAPI Guide, LAPI_Xfer, LAPI_Rmw, tables 23 to 31)
 */

/* What LAPI_Xfer transfers. */
typedef enum {
    LAPI_GET_XFER = 0,   /* lapi_get_t */
    LAPI_AM_XFER = 1,    /* lapi_am_t */
    LAPI_RMW_XFER = 2,   /* lapi_rmw_t */
    LAPI_PUT_XFER = 3,   /* lapi_put_t */
    LAPI_GETV_XFER = 4,  /* lapi_getv_t */
    LAPI_PUTV_XFER = 5,  /* lapi_putv_t */
    LAPI_AMV_XFER = 6,   /* lapi_amv_t */
    LAPI_DGSP_XFER = 7,  /* lapi_amdgsp_t */
    LAPI_AM_LW_XFER = 8  /* lapi_am_t without counters and handlers at the origin */
} lapi_xfer_type_t;

/* What a read-modify-write does. */
typedef enum {
    FETCH_AND_ADD = 0,    /* add */
    FETCH_AND_OR = 1,     /* bitwise or */
    SWAP = 2,             /* replace */
    COMPARE_AND_SWAP = 3  /* replace the variable by in_val[1] if it equals in_val[0] */
} RMW_ops_t, Rmw_ops_t;

/* Directives of a transfer: values of the fields named flags, beside the hints below. */
typedef enum {
    USE_TGT_VEC_TYPE = 1,       /* tgt_vec is a lapi_vec_t *, not a lapi_lvec_t * */
    BUFFER_BOTH_CONTIGUOUS = 2  /* the data are contiguous on both sides, whatever the DGSP says */
} lapi_xfer_flags_t;

#define LAPI_NOT_USE_BULK_XFER     0x4 /* Hint: no bulk transfer. Wins over LAPI_USE_BULK_XFER. */
#define LAPI_USE_BULK_XFER         0x8 /* Hint: bulk transfer. */

/* A get (table 27). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_GET_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_long_t tgt_addr;       /* where the data are at the target */
    void *org_addr;             /* where they go */
    ulong len;                  /* their length in bytes */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    compl_hndlr_t *chndlr;      /* runs when the data have arrived, or NULL */
    void *cinfo;                /* what chndlr is given */
} lapi_get_t;

/* An active message (table 24). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_AM_XFER, or LAPI_AM_LW_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_long_t hdr_hdl;        /* header handler: index or address at the target */
    uint uhdr_len;              /* length of the user header, a multiple of 4 */
    void *uhdr;                 /* user header */
    void *udata;                /* data */
    ulong udata_len;            /* their length in bytes */
    scompl_hndlr_t *shdlr;      /* runs when the data may be changed again, or NULL */
    void *sinfo;                /* what shdlr is given */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    lapi_cntr_t *cmpl_cntr;     /* completion counter, or NULL */
} lapi_am_t;

/* A read-modify-write (table 31). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_RMW_XFER */
    Rmw_ops_t op;               /* what to do */
    uint tgt;                   /* target task */
    uint size;                  /* width of the variable: 32 or 64 */
    lapi_long_t tgt_var;        /* the variable, an address at the target */
    void *in_val;               /* operand; two of them for COMPARE_AND_SWAP */
    void *prev_tgt_val;         /* receives the previous value, or NULL */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    scompl_hndlr_t *shdlr;      /* runs when the operation is done, or NULL */
    void *sinfo;                /* what shdlr is given */
} lapi_rmw_t;

/* A put (table 29). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_PUT_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_long_t tgt_addr;       /* where the data go at the target */
    void *org_addr;             /* where they are */
    ulong len;                  /* their length in bytes */
    scompl_hndlr_t *shdlr;      /* runs when the data may be changed again, or NULL */
    void *sinfo;                /* what shdlr is given */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    lapi_cntr_t *cmpl_cntr;     /* completion counter, or NULL */
} lapi_put_t;

/* A get between vectors (table 28). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_GETV_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_vec_t *org_vec;        /* where the data go at the origin */
    void *tgt_vec;              /* where they are, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    compl_hndlr_t *chndlr;      /* runs when the data have arrived, or NULL */
    void *cinfo;                /* what chndlr is given */
} lapi_getv_t;

/* A put between vectors (table 30). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_PUTV_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    scompl_hndlr_t *shdlr;      /* runs when the data may be changed again, or NULL */
    void *sinfo;                /* what shdlr is given */
    lapi_vec_t *org_vec;        /* the data at the origin */
    void *tgt_vec;              /* where they go, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    lapi_cntr_t *cmpl_cntr;     /* completion counter, or NULL */
} lapi_putv_t;

/* An active message from a vector (table 25). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_AMV_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_long_t hdr_hdl;        /* header handler: index or address at the target */
    uint uhdr_len;              /* length of the user header, a multiple of 4 */
    void *uhdr;                 /* user header */
    scompl_hndlr_t *shdlr;      /* runs when the data may be changed again, or NULL */
    void *sinfo;                /* what shdlr is given */
    lapi_vec_t *org_vec;        /* the data at the origin */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    lapi_cntr_t *cmpl_cntr;     /* completion counter, or NULL */
} lapi_amv_t;

/* An active message laid out by a DGSP (table 26). */
typedef struct {
    lapi_xfer_type_t Xfer_type; /* LAPI_DGSP_XFER */
    int flags;                  /* directives and hints, or 0 */
    uint tgt;                   /* target task */
    lapi_long_t hdr_hdl;        /* header handler: index or address at the target */
    uint uhdr_len;              /* length of the user header, a multiple of 4 */
    void *uhdr;                 /* user header */
    void *udata;                /* data */
    ulong udata_len;            /* their length in bytes */
    scompl_hndlr_t *shdlr;      /* runs when the data may be changed again, or NULL */
    void *sinfo;                /* what shdlr is given */
    lapi_long_t tgt_cntr;       /* target counter, an address at the target, or 0 */
    lapi_cntr_t *org_cntr;      /* origin counter, or NULL */
    lapi_cntr_t *cmpl_cntr;     /* completion counter, or NULL */
    lapi_dg_handle_t dgsp;      /* layout of the data at the origin */
    lapi_status_t status;       /* reserved */
} lapi_amdgsp_t;

/* Any transfer; Xfer_type says which. */
typedef union {
    lapi_xfer_type_t Xfer_type; /* first field of every member */
    lapi_get_t Get;
    lapi_am_t Am;
    lapi_rmw_t Rmw;
    lapi_put_t Put;
    lapi_getv_t Getv;
    lapi_putv_t Putv;
    lapi_amv_t Amv;
    lapi_amdgsp_t Dgsp;
} lapi_xfer_t;

/*
 * Utilities
 * (LAPI Guide, LAPI_Util, tables 14 to 22)
 */

/* What LAPI_Util does. */
typedef enum {
    LAPI_REGISTER_DGSP = 0,     /* lapi_reg_dgsp_t */
    LAPI_UNRESERVE_DGSP = 1,    /* lapi_dref_dgsp_t */
    LAPI_RESERVE_DGSP = 2,      /* lapi_resv_dgsp_t */
    LAPI_REG_DDM_FUNC = 3,      /* lapi_reg_ddm_t */
    LAPI_ADD_UDP_DEST_PORT = 4, /* lapi_add_udp_port_t */
    LAPI_DGSP_PACK = 5,         /* lapi_pack_dgsp_t */
    LAPI_DGSP_UNPACK = 6,       /* lapi_unpack_dgsp_t */
    LAPI_GET_THREAD_FUNC = 7    /* lapi_thread_func_t */
} lapi_util_type_t;

/* Register a DGSP (table 15). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_REGISTER_DGSP */
    lapi_dgsp_descr_t *idgsp;     /* in: the program */
    lapi_dg_handle_t dgsp_handle; /* out: its handle */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_reg_dgsp_t;

/* Give up a DGSP (table 17). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_UNRESERVE_DGSP */
    lapi_dg_handle_t dgsp_handle; /* in: its handle */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_dref_dgsp_t;

/* Keep a DGSP (table 16). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_RESERVE_DGSP */
    lapi_dg_handle_t dgsp_handle; /* in: its handle */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_resv_dgsp_t;

/* Register the DDM function (table 18). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_REG_DDM_FUNC */
    ddm_func_t *ddm_func;         /* in: the function */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_reg_ddm_t;

/* Tell the UDP address of a task (table 21). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_ADD_UDP_DEST_PORT */
    uint tgt;                     /* in: the task */
    lapi_udp_t *udp_port;         /* in: its address */
    uint instance_no;             /* in: network instance */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_add_udp_port_t;

/* Gather into a contiguous buffer (table 19). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_DGSP_PACK */
    lapi_dg_handle_t dgsp_handle; /* in: layout of in_buf */
    void *in_buf;                 /* in: what to gather */
    ulong bytes;                  /* in: how many bytes */
    void *out_buf;                /* out: the contiguous buffer */
    ulong out_size;               /* in: its size in bytes */
    ulong position;               /* in and out: offset in the contiguous buffer */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_pack_dgsp_t;

/* Scatter from a contiguous buffer (table 20). */
typedef struct {
    lapi_util_type_t Util_type;   /* LAPI_DGSP_UNPACK */
    lapi_dg_handle_t dgsp_handle; /* in: layout of out_buf */
    void *buf;                    /* in: the contiguous buffer */
    ulong in_size;                /* in: its size in bytes */
    void *out_buf;                /* out: where the data go */
    ulong bytes;                  /* in: how many bytes */
    ulong out_size;               /* in: size of out_buf in bytes */
    ulong position;               /* in and out: offset in the contiguous buffer */
    lapi_usr_fcall_t in_usr_func; /* for debugging only */
    lapi_status_t status;         /* reserved */
} lapi_unpack_dgsp_t;

/* A condition variable for the lock of a context. Initialize it with cond_init. */
typedef struct {
    ulong opaque[6]; /* used by LAPI */
} lapi_cond_t;

/* Takes the lock of a context. Returns 0 or EINVAL. */
typedef int (*lapi_mutex_lock_t)(lapi_handle_t hndl);

/* Releases the lock. Returns 0 or EINVAL. */
typedef int (*lapi_mutex_unlock_t)(lapi_handle_t hndl);

/* Takes the lock if it is free. Returns 0, EBUSY or EINVAL. */
typedef int (*lapi_mutex_trylock_t)(lapi_handle_t hndl);

/* Tells who holds the lock: LAPI_NULL_THREAD_ID if nobody does. */
typedef int (*lapi_mutex_getowner_t)(lapi_handle_t hndl, pthread_t *tid);

/* Waits for a signal; the caller holds the lock. */
typedef int (*lapi_cond_wait_t)(lapi_handle_t hndl, lapi_cond_t *cond);

/* Waits until an absolute time at most. Returns 0, ETIMEDOUT or EINVAL. */
typedef int (*lapi_cond_timedwait_t)(lapi_handle_t hndl, lapi_cond_t *cond,
                                     struct timespec *timeout);

/* Wakes one thread that waits. */
typedef int (*lapi_cond_signal_t)(lapi_handle_t hndl, lapi_cond_t *cond);

/* Initializes a condition variable. Returns 0, EAGAIN, ENOMEM or EINVAL. */
typedef int (*lapi_cond_init_t)(lapi_handle_t hndl, lapi_cond_t *cond);

/* Ends the use of a condition variable. Returns 0, EBUSY or EINVAL. */
typedef int (*lapi_cond_destroy_t)(lapi_handle_t hndl, lapi_cond_t *cond);

#define LAPI_NULL_THREAD_ID        ((pthread_t)0) /* No thread. */

/* The functions of the shared lock (table 22). */
typedef struct {
    lapi_util_type_t Util_type;           /* LAPI_GET_THREAD_FUNC */
    lapi_mutex_lock_t mutex_lock;         /* out */
    lapi_mutex_unlock_t mutex_unlock;     /* out */
    lapi_mutex_trylock_t mutex_trylock;   /* out */
    lapi_mutex_getowner_t mutex_getowner; /* out */
    lapi_cond_wait_t cond_wait;           /* out */
    lapi_cond_timedwait_t cond_timedwait; /* out */
    lapi_cond_signal_t cond_signal;       /* out */
    lapi_cond_init_t cond_init;           /* out */
    lapi_cond_destroy_t cond_destroy;     /* out */
    lapi_usr_fcall_t in_usr_func;         /* for debugging only */
    lapi_status_t status;                 /* reserved */
} lapi_thread_func_t;

/* Any utility; Util_type says which. */
typedef union {
    lapi_util_type_t Util_type;    /* first field of every member */
    lapi_reg_dgsp_t RegDgsp;
    lapi_dref_dgsp_t DrefDgsp;
    lapi_resv_dgsp_t ResvDgsp;
    lapi_reg_ddm_t DdmFunc;
    lapi_add_udp_port_t Udp;
    lapi_pack_dgsp_t PackDgsp;
    lapi_unpack_dgsp_t UnpackDgsp;
    lapi_thread_func_t ThreadFunc;
} lapi_util_t;

/*
 * Subroutines
 * (LAPI Guide, chapters 18 and 19)
 */

/* Fetches what LAPI_Addr_set stored under an index. */
int LAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);

/* Stores an address, such as a header handler's, under an index that other tasks can name. */
int LAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);

/* Gives the address of a variable, for Fortran programs. */
int LAPI_Address(void *my_addr, ulong *ret_addr);

/* Collective: exchanges an address between all tasks. */
int LAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);

/* Collective: the same with 64-bit addresses. */
int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);

/* Sends an active message. hdr_hdl is the handler's index, or its address at the target. */
int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                void *udata, ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                lapi_cntr_t *cmpl_cntr);

/* Sends an active message from a vector. */
int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                 lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                 lapi_cntr_t *cmpl_cntr);

/* Waits until the transfers that this task started are complete. */
int LAPI_Fence(lapi_handle_t hndl);

/* Copies memory of another task here. */
int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr);

/* Reads a counter. */
int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);

/* Copies memory of another task here, between vectors. */
int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr);

/* Collective: waits until the transfers that all tasks started are complete. */
int LAPI_Gfence(lapi_handle_t hndl);

/* Initializes a context. Zero *lapi_info before setting any field. */
int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);

/* Writes the text of a return code, at most LAPI_MAX_ERR_STRING bytes. */
int LAPI_Msg_string(int error_code, void *buf);

/* Makes progress until something completes, or for cnt rounds without any. */
int LAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);

/* Waits for a counter without polling, and returns early when a task is purged. */
int LAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr_ptr, int val, int *cur_cntr_val);

/* Makes progress once. */
int LAPI_Probe(lapi_handle_t hndl);

/* Forgets a task that has failed. */
int LAPI_Purge_totask(lapi_handle_t hndl, uint dest);

/* Copies memory of this task to another. */
int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);

/* Copies memory of this task to another, between vectors. */
int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);

/* Reads a runtime attribute; the type of *ret_val depends on it. */
int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);

/* Takes up communication with a purged task again. */
int LAPI_Resume_totask(lapi_handle_t hndl, uint dest);

/* Reads and modifies a variable of another task atomically, 32 bits. */
int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val,
             int *prev_tgt_val, lapi_cntr_t *org_cntr);

/* The same, 64 bits. */
int LAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
               long long *prev_tgt_val, lapi_cntr_t *org_cntr);

/* Sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT. */
int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);

/* Sets a counter. */
int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);

/* Zeroes a counter and names the tasks whose state LAPI_Nopoll_wait is to report. */
int LAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list,
                         int *dest_status);

/* Ends a context. */
int LAPI_Term(lapi_handle_t hndl);

/* Registers DGSPs, packs and unpacks, tells UDP addresses, hands out the lock. */
int LAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);

/* Waits until a counter reaches val, and subtracts val from it. */
int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);

/* Starts any transfer. */
int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);

/*
 * Profiling interface
 * (LAPI Guide, chapter 9: a library that defines LAPI_* calls PLAPI_*)
 */

int PLAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);
int PLAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);
int PLAPI_Address(void *my_addr, ulong *ret_addr);
int PLAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);
int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);
int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                 void *udata, ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                 lapi_cntr_t *cmpl_cntr);
int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                  lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                  lapi_cntr_t *cmpl_cntr);
int PLAPI_Fence(lapi_handle_t hndl);
int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr);
int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);
int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr);
int PLAPI_Gfence(lapi_handle_t hndl);
int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);
int PLAPI_Msg_string(int error_code, void *buf);
int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);
int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr_ptr, int val, int *cur_cntr_val);
int PLAPI_Probe(lapi_handle_t hndl);
int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);
int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val,
              int *prev_tgt_val, lapi_cntr_t *org_cntr);
int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                long long *prev_tgt_val, lapi_cntr_t *org_cntr);
int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);
int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);
int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list,
                          int *dest_status);
int PLAPI_Term(lapi_handle_t hndl);
int PLAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);
int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);

#ifdef __cplusplus
}
#endif

#endif /* LAPI_H */
