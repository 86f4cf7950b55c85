/* Lapis through its C interface, started by lapirun: what a C program pays beside one in Rust (lapis-perf). */
#include "measure.h"

#include <lapi.h>
#include <stdint.h>

enum { MAX_SIZE = 4 << 20, AGREE = 1, MESSAGE, STREAM, REQUEST, QUESTION, COPY };

static lapi_handle_t handle;
static int me;
static char *buffer, *sink;
static lapi_cntr_t landed, here;
static void *sinks[2], *counters[2];
static volatile long arrived, streamed, served, word, words;

static void check(int code, const char *what) {
    char text[LAPI_MAX_ERR_STRING];
    if (code == LAPI_SUCCESS)
        return;
    LAPI_Msg_string(code, text);
    fprintf(stderr, "lapi: %s: %s\n", what, text);
    exit(1);
}

static void *on_agree(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    word = *(long *)header;
    words++;
    *done = NULL;
    return NULL;
}

static void completed(lapi_handle_t *h, void *count) {
    ++*(volatile long *)count;
}

/* Counts a message: short data are looked at where they are, longer ones are stored first. */
static void *receive(volatile long *count, ulong *size, compl_hndlr_t **done, void **with) {
    lapi_return_info_t *info = (lapi_return_info_t *)size;
    *done = NULL;
    if (info->udata_one_pkt_ptr != NULL || info->msg_len == 0) {
        info->ctl_flags = LAPI_BURY_MSG;
        ++*count;
        return NULL;
    }
    info->ret_flags = LAPI_LOCAL_STATE;
    *done = completed;
    *with = (void *)count;
    return sink;
}

static void *on_message(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    return receive(&arrived, size, done, with);
}

static void *on_stream(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    return receive(&streamed, size, done, with);
}

/* Stores short messages, too. */
static void *on_copy(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    lapi_return_info_t *info = (lapi_return_info_t *)size;
    if (info->udata_one_pkt_ptr != NULL)
        memcpy(sink, info->udata_one_pkt_ptr, info->msg_len);
    return receive(&arrived, size, done, with);
}

static void send_message(int index, long size) {
    check(LAPI_Amsend(handle, 1 - me, (void *)(intptr_t)index, NULL, 0, buffer, size, NULL, NULL, NULL), "Amsend");
}

static void wait_for(volatile long *counter, long value) {
    lapi_msg_info_t info;
    while (*counter < value)
        LAPI_Msgpoll(handle, 100, &info);
}

static void serve(lapi_handle_t *h, void *size) {
    send_message(MESSAGE, (long)(intptr_t)size);
    served++;
}

/* The answer comes from a completion handler on a handler thread. */
static void *on_request(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    *done = serve;
    *with = (void *)(intptr_t)((lapi_return_info_t *)size)->msg_len;
    return sink;
}

static void answer(lapi_handle_t *h, void *unused) {
    send_message(MESSAGE, sizeof(long));
    served++;
}

/* The same with a short answer, whatever the request's length. */
static void *on_question(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    *done = answer;
    return sink;
}

static long agree(int rank, long value) {
    static long agreed;
    agreed++;
    if (rank == 0) {
        check(LAPI_Amsend(handle, 1, (void *)(intptr_t)AGREE, &value, sizeof value, NULL, 0, NULL, NULL, NULL), "Amsend");
    } else {
        wait_for(&words, agreed);
        value = word;
    }
    check(LAPI_Gfence(handle), "Gfence");
    return value;
}

/* Messages to this task so far, whether they have come or not: the first of a batch may be faster than the batch. */
static long expected;

static void ping_pong(int rank, long count, long size, int index) {
    for (; count > 0; count--) {
        if (rank == 0)
            send_message(index, size);
        wait_for(&arrived, ++expected);
        if (rank == 1)
            send_message(index, size);
    }
}

static void am_lat(int rank, long count, long size) {
    ping_pong(rank, count, size, MESSAGE);
}

static void am_copy_lat(int rank, long count, long size) {
    ping_pong(rank, count, size, COPY);
}

static void am_stream(int rank, long count, long size) {
    static long total;
    total += count;
    if (rank == 0) {
        for (; count > 0; count--)
            send_message(STREAM, size);
        wait_for(&arrived, ++expected);
    } else {
        wait_for(&streamed, total);
        send_message(MESSAGE, 0);
    }
}

static void serve_all(int rank, long count, long size, int index) {
    static long total;
    total += count;
    if (rank == 1)
        wait_for(&served, total);
    for (; rank == 0 && count > 0; count--) {
        send_message(index, size);
        wait_for(&arrived, ++expected);
    }
}

static void am_serve(int rank, long count, long size) {
    serve_all(rank, count, size, REQUEST);
}

static void am_ask(int rank, long count, long size) {
    serve_all(rank, count, size, QUESTION);
}

/* Puts between ordinary memory that the target waits for: what NetPIPE measures of LAPI. */
static void put_pingpong(int rank, long count, long size) {
    int left;
    for (; count > 0; count--) {
        if (rank == 1)
            check(LAPI_Waitcntr(handle, &landed, 1, &left), "Waitcntr");
        check(LAPI_Put(handle, 1 - me, size, sinks[1 - me], buffer, counters[1 - me], NULL, NULL), "Put");
        if (rank == 0)
            check(LAPI_Waitcntr(handle, &landed, 1, &left), "Waitcntr");
    }
}

/* Gets from ordinary memory of a task that waits. */
static void get_waited(int rank, long count, long size) {
    int left;
    if (rank == 1)
        check(LAPI_Waitcntr(handle, &landed, 1, &left), "Waitcntr");
    for (; rank == 0 && count > 0; count--) {
        check(LAPI_Get(handle, 1, size, sinks[1], buffer, NULL, &here), "Get");
        check(LAPI_Waitcntr(handle, &here, 1, &left), "Waitcntr");
        if (count == 1)
            check(LAPI_Put(handle, 1, 0, NULL, NULL, counters[1], NULL, NULL), "Put");
    }
}

static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 0, MAX_SIZE, "LAPI_Amsend"},
    {"am_copy_lat", HALF_NS, am_copy_lat, 0, MAX_SIZE, "LAPI_Amsend, copied out"},
    {"put_pingpong", HALF_NS, put_pingpong, 1, MAX_SIZE, "LAPI_Put that the target waits for"},
    {"get_waited", NS, get_waited, 1, MAX_SIZE, "LAPI_Get from a task that waits"},
    {"am_serve", NS, am_serve, 0, MAX_SIZE, "request, completion handler, reply"},
    {"am_ask", NS, am_ask, 0, MAX_SIZE, "request, completion handler, reply of 8 B"},
    {"am_rate", MILLIONS, am_stream, 0, MAX_SIZE, "LAPI_Amsend"},
};

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    check(LAPI_Init(&handle, &info), "Init");
    check(LAPI_Qenv(handle, TASK_ID, &me), "Qenv");
    check(LAPI_Senv(handle, INTERRUPT_SET, 0), "Senv");
    check(LAPI_Senv(handle, ERROR_CHK, 0), "Senv");
    buffer = written_memory(MAX_SIZE);
    sink = written_memory(MAX_SIZE);
    check(LAPI_Addr_set(handle, (void *)on_agree, AGREE), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_message, MESSAGE), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_stream, STREAM), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_copy, COPY), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_request, REQUEST), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_question, QUESTION), "Addr_set");
    check(LAPI_Setcntr(handle, &landed, 0), "Setcntr");
    check(LAPI_Setcntr(handle, &here, 0), "Setcntr");
    check(LAPI_Address_init(handle, sink, sinks), "Address_init");
    check(LAPI_Address_init(handle, &landed, counters), "Address_init");
    check(LAPI_Gfence(handle), "Gfence");
    measure_all(&a, benches, sizeof benches / sizeof *benches, me);
    check(LAPI_Gfence(handle), "Gfence");
    check(LAPI_Term(handle), "Term");
    return 0;
}
