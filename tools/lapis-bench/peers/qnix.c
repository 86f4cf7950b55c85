/* Lapis through QNIX, started by lapirun. A message is what the interface makes of one: contexts for sender and receiver are
 * assigned, commands posted and doorbells polled each time. */
#include "measure.h"

#include <qx.h>

/* Messages between two barriers of a job that tells what sending costs its sender. */
enum { BURST = 16 };
enum { MAX_SIZE = 2 << 20, SHORT = 4096, PAGES = MAX_SIZE / 4096 + 2, WINDOW = 8, PING = 1, STREAM, WORD };

static int me, name[2], other[2], application, processes;
static unsigned long table[PAGES], sink_table[PAGES];
static char *buffer, *sink;

static int check(int code, const char *what) {
    if (code >= 0)
        return code;
    fprintf(stderr, "qnix: %s: %s\n", what, qx_strerror(code));
    exit(1);
}

/* Posts a receive; gives its context. */
static int expect(int tag, long size) {
    int pages = (int)((size + 4095) / 4096);
    int at = check(qx_recv_context(other, tag, 1, pages, size, -1, size ? sink_table : NULL), "qx_recv_context");
    check(qx_receive(at), "qx_receive");
    return at;
}

static void await(int at) {
    check(qx_poll_for_receive(at), "qx_poll_for_receive");
}

/* Assigns a Send Context, which is free again when its message has ended. */
static int prepare(int tag, long size, int doorbell) {
    int at = size <= SHORT ? qx_send_context(other, tag, doorbell, 0, size, -1, (unsigned long *)buffer)
                           : qx_send_context(other, tag, doorbell, QX_PACKETS(size), size, -1, table);
    return check(at, "qx_send_context");
}

/* Sends what a context says. */
static void send_prepared(int at, long size) {
    if (size <= SHORT)
        check(qx_send_short(at), "qx_send_short");
    else
        check(qx_send(at), "qx_send");
}

static void send_message(int tag, long size, int doorbell) {
    int at = prepare(tag, size, doorbell);
    send_prepared(at, size);
    if (doorbell)
        check(qx_poll_for_send(at), "qx_poll_for_send");
}

static void barrier(void) {
    int at = check(qx_send_context(NULL, 0, 1, 0, 0, -1, NULL), "qx_send_context");
    check(qx_barrier(at, application, processes), "qx_barrier");
    check(qx_poll_for_send(at), "qx_poll_for_send");
}

static long agree(int rank, long value) {
    if (rank == 0) {
        int at = check(qx_send_context(NULL, WORD, 1, 0, sizeof value, -1, (unsigned long *)&value), "qx_send_context");
        check(qx_broadcast_short(at, application), "qx_broadcast_short");
        check(qx_poll_for_send(at), "qx_poll_for_send");
    } else {
        await(expect(WORD, sizeof value));
        memcpy(&value, sink, sizeof value);
    }
    barrier();
    return value;
}

/* A receive is posted, and the next Send Context assigned, while the message before is on its way: a message's bytes are read when it is
 * sent. */
static void am_lat(int rank, long count, long size) {
    int at = expect(PING, size), next = at, prepared = prepare(PING, size, 0);
    while (count-- > 0) {
        if (rank == 1)
            await(at);
        send_prepared(prepared, size);
        if (count > 0) {
            next = expect(PING, size);
            prepared = prepare(PING, size, 0);
        }
        if (rank == 0)
            await(at);
        at = next;
    }
}

/* A window of receives is posted ahead. Each side says when it may go on. */
static void stream(int rank, long count, long size) {
    int posted[WINDOW];
    long next, ended = 0;
    if (rank == 0) {
        int at = expect(PING, 0);
        for (; count > 0; count--)
            send_message(STREAM, size, size > SHORT && count % WINDOW == 0);
        await(at);
        return;
    }
    for (next = 0; next < count && next < WINDOW; next++)
        posted[next] = expect(STREAM, size);
    for (; ended < count; ended++) {
        await(posted[ended % WINDOW]);
        if (next < count)
            posted[next++ % WINDOW] = expect(STREAM, size);
    }
    send_message(PING, 0, 0);
}

static void barriers(int rank, long count, long size) {
    for (; count > 0; count--)
        barrier();
}

/* What a message costs its sender, until its context is free again, in a job of more than two: to the next process, whose core is another
 * one, or to all others. The receivers keep up, in barriers that are not counted. */
static void bursts(int rank, long count, long size, int to_all) {
    while (count > 0) {
        long n = count < BURST ? count : BURST, i;
        int posted[BURST];
        double begin;
        if (rank == 0)
            for (i = 0; i < n; i++) {
                int at = check(qx_send_context(to_all ? NULL : other, PING, 1, 0, size, -1, (unsigned long *)buffer), "qx_send_context");
                check(to_all ? qx_broadcast_short(at, application) : qx_send_short(at), "a short message");
                check(qx_poll_for_send(at), "qx_poll_for_send");
            }
        else if (to_all || rank == 1)
            for (i = 0; i < n; i++)
                posted[i] = expect(PING, size);
        begin = now_ns();
        if (rank != 0 && (to_all || rank == 1))
            for (i = 0; i < n; i++)
                await(posted[i]);
        barrier();
        aside_ns += now_ns() - begin;
        count -= n;
    }
}

static void to_one(int rank, long count, long size) {
    bursts(rank, count, size, 0);
}

static void to_all(int rank, long count, long size) {
    bursts(rank, count, size, 1);
}

static const struct bench crowd[] = {
    {"send_short", NS, to_one, 8, 8, "qx_send_short, at the sender"},
    {"broadcast_short", NS, to_all, 8, 8, "qx_broadcast_short to all others, at the sender"},
};

static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 0, MAX_SIZE, "qx_send_short, qx_send"},
    {"am_rate", MILLIONS, stream, 0, SHORT, "qx_send_short"},
    {"am_bw", GIGABYTES, stream, 1, MAX_SIZE, "qx_send"},
    {"barrier", NS, barriers, 0, 0, "qx_barrier"},
};

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    check(qx_whoami(name, &processes), "qx_whoami");
    me = name[1];
    /* One message goes to another core then, as most of those to all others do. */
    if (processes > 2)
        pin_to(me);
    application = other[0] = name[0];
    other[1] = me == 0;
    if (qx_init(name, application, processes) == NULL)
        check(qx_last_error(), "qx_init");
    buffer = aligned_alloc(4096, MAX_SIZE);
    sink = aligned_alloc(4096, MAX_SIZE);
    memset(buffer, 0, MAX_SIZE);
    memset(sink, 0, MAX_SIZE);
    check(qx_buffer_lock(buffer, MAX_SIZE), "qx_buffer_lock");
    check(qx_buffer_lock(sink, MAX_SIZE), "qx_buffer_lock");
    check(qx_buffer_translate(buffer, MAX_SIZE, table), "qx_buffer_translate");
    check(qx_buffer_translate(sink, MAX_SIZE, sink_table), "qx_buffer_translate");
    barrier();
    if (processes == 2)
        measure_all(&a, benches, sizeof benches / sizeof *benches, me);
    else
        measure_all(&a, crowd, sizeof crowd / sizeof *crowd, me);
    barrier();
    check(qx_end(name), "qx_end");
    return 0;
}
