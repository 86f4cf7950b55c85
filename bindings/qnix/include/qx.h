/*
 * qx.h: the QNIX API, implemented by Lapis. docs/qnix.md says what was chosen where the API's text leaves something open.
 *
 * Every call gives a negative number (qx_init: NULL) in case of error. Which one it was is one of QX_ERR_*; qx_strerror puts it into words,
 * qx_last_error tells the last one of the calling thread.
 */
#ifndef QX_H
#define QX_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    QX_CONTEXTS = 64,        /* Send Contexts, and as many Receive Contexts */
    QX_PACKET_SIZE = 1024,   /* bytes of a packet: the unit of qx_send_context's size */
    QX_SHORT_MAX = 4096,     /* bytes that a context's registers hold */
    QX_SEND_MAX = 2 << 20,   /* bytes of a message, and of a translated buffer */
    QX_POOL_MAX = 8 << 20    /* bytes of the buffer pool */
};

/* Packets of a message of so many bytes that lies in pages. A message in registers has none. */
#define QX_PACKETS(len) ((int)(((len) + QX_PACKET_SIZE - 1) / QX_PACKET_SIZE))

/* States of a doorbell. */
enum {
    QX_DOORBELL_FREE = 0, /* rings for nothing */
    QX_DOORBELL_BUSY = 1, /* a command was posted and is under way */
    QX_DOORBELL_DONE = 2  /* it has ended: qx_poll_for_send or qx_poll_for_receive tells how, and frees the doorbell */
};

/* States of a context. */
enum {
    QX_CONTEXT_FREE = 0,
    QX_CONTEXT_SET = 1,    /* assigned, no command posted yet */
    QX_CONTEXT_POSTED = 2, /* under way */
    QX_CONTEXT_ENDED = 3   /* waits for its doorbell to be polled */
};

/* Errors. */
enum {
    QX_OK = 0,
    QX_ERR_NULL = -1,          /* a pointer is NULL that must not be */
    QX_ERR_NOT_INITIALIZED = -2,
    QX_ERR_INITIALIZED = -3,   /* qx_init was called already */
    QX_ERR_NAME = -4,          /* the process's name, its group or the group's size contradict each other or other processes */
    QX_ERR_PROCESS = -5,       /* no process has that name */
    QX_ERR_LENGTH = -6,        /* a length is negative or too long */
    QX_ERR_SIZE = -7,          /* a size in packets or pages does not fit the length */
    QX_ERR_POOL = -8,          /* no buffer pool, one already, or not so many pages */
    QX_ERR_ADDRESS = -9,       /* a physical address that qx_buffer_translate did not give, or that is unlocked again */
    QX_ERR_LOCK = -10,         /* the system refuses to lock (see RLIMIT_MEMLOCK) or the memory is not locked */
    QX_ERR_NO_CONTEXT = -11,   /* all contexts are in use */
    QX_ERR_CONTEXT = -12,      /* no such context, or a free one */
    QX_ERR_STATE = -13,        /* the context has a command already, or none to poll for */
    QX_ERR_KIND = -14,         /* a short command with data in pages, or a long one with data in registers */
    QX_ERR_DOORBELL = -15,     /* the context was assigned without doorbell_flag */
    QX_ERR_GROUP = -16,        /* no group of that name is known here */
    QX_ERR_GROUP_EXISTS = -17, /* a group of that name is complete already, or is being joined by this process */
    QX_ERR_GROUP_SIZE = -18,   /* the size differs from what others said */
    QX_ERR_MEMBER = -19,       /* the process is no member of the group */
    QX_ERR_TRUNCATED = -20,    /* the message was longer than the receiver's buffer, which has its beginning */
    QX_ERR_PEER = -21,         /* a process that the command needs has ended */
    QX_ERR_JOB = -22,          /* the job can't be joined; a line on standard error says why */
    QX_ERR_MEMORY = -23,       /* no memory */
    QX_ERR_COUNT = -24,        /* a negative number of receivers, or one that is named twice */
    QX_ERR_INTERNAL = -25      /* a defect of the library */
};

/* A context as the process sees it. Only the library writes it. */
typedef struct {
    int proc_name[2];      /* receiver or sender */
    int tag;
    int doorbell_flag;
    int size;              /* packets, or pages of a receive buffer */
    int buffer_pool_index; /* or -1 */
    long len;              /* bytes of the message, or of the receive buffer */
    int state;             /* QX_CONTEXT_* */
    int result;            /* of a command that has ended: bytes received, QX_OK, or QX_ERR_* */
} qx_context_t;

/* The Host Parameter Structure: what qx_init gives. Only the library writes it; whoever looks at a doorbell finds its present state. */
typedef struct {
    int proc_name[2];
    int group_name;
    int group_size;
    int page_size;
    int buffer_pool_pages; /* 0 without a pool */
    char *buffer_pool;     /* its first page */
    volatile int send_doorbell[QX_CONTEXTS];
    volatile int receive_doorbell[QX_CONTEXTS];
    qx_context_t send_context[QX_CONTEXTS];
    qx_context_t receive_context[QX_CONTEXTS];
} qx_hps_t;

void *qx_init(int *proc_name, int group_name, int group_size);
int qx_buffer_lock(char *buffer, long buffer_size);
int qx_buffer_unlock(char *buffer, long buffer_size);
int qx_buffer_pool(int pool_size);
int qx_buffer_translate(char *buffer, long buffer_size, unsigned long *phys_addr);
int qx_send_context(int *receiver_proc_name, int context_tag, int doorbell_flag, int size, long len, int buffer_pool_index,
                    unsigned long *context_reg);
int qx_recv_context(int *sender_proc_name, int context_tag, int doorbell_flag, int size, long len, int buffer_pool_index,
                    unsigned long *context_reg);
int qx_send(int context_index);
int qx_send_short(int context_index);
int qx_broadcast(int context_index, int group_name);
int qx_broadcast_short(int context_index, int group_name);
int qx_multicast(int context_index, int size, int **recv_proc_name_list);
int qx_multicast_short(int context_index, int size, int **recv_proc_name_list);
int qx_receive(int context_index);
int qx_join_group(int context_index, int group_name, int group_size);
int qx_barrier(int context_index, int group_name, int group_size);
int qx_poll_for_send(int context_index);
int qx_poll_for_receive(int context_index);
int qx_end(int *proc_name);

/* Beside the API: */

/* What an error number means. Never NULL. */
const char *qx_strerror(int error);

/* The last error of a call that the calling thread made, QX_OK if there was none. */
int qx_last_error(void);

/*
 * The name that the launcher, or who started the process by hand, gives it, and the size of its application: QX_APPLICATIONS=AI:size,AI:size
 * gives tasks to applications in the order of their numbers; without it all tasks are application 1. Applications that are started apart
 * meet by QX_CLUSTER and have QX_APPLICATION each. Needs no qx_init.
 */
int qx_whoami(int *proc_name, int *group_size);

#ifdef __cplusplus
}
#endif

#endif
