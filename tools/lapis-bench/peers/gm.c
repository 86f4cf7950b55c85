/* Lapis through GM: two ports of one node. lapirun starts the programs and is their services daemon; GM itself has no launcher. */
#include "measure.h"

#include <unistd.h>

#include <gm.h>

enum { MAX_SIZE = 1 << 20, SMALL = 4096, TOKENS = 64, BUFFERS = 8, LONG_WAITS = 5, FIRST_PORT = 2, SECOND_PORT = 4, OPENED_PORT = 5 };

static struct gm_port *port;
static unsigned int node, other_port;
static int tokens;
static long received, answers, answer;
static char *message;

static void check(gm_status_t status, const char *what) {
    if (status == GM_SUCCESS)
        return;
    fprintf(stderr, "gm: %s: %s\n", what, gm_strerror(status));
    exit(1);
}

static void sent(struct gm_port *p, void *context, gm_status_t status) {
    check(status, "a send");
    tokens++;
}

/* Deals with one event. Values that the ranks agree upon come with high priority. */
static void step(gm_recv_event_t *e) {
    unsigned int type = GM_RECV_EVENT_TYPE(e);
    switch (type) {
    case GM_RECV_EVENT:
    case GM_FAST_RECV_EVENT:
        received++;
        gm_provide_receive_buffer(port, gm_ntohp(e->recv.buffer), gm_ntoh_u8(e->recv.size), GM_LOW_PRIORITY);
        break;
    case GM_FAST_HIGH_RECV_EVENT:
        memcpy(&answer, gm_ntohp(e->recv.message), sizeof answer);
        answers++;
        gm_provide_receive_buffer(port, gm_ntohp(e->recv.buffer), gm_ntoh_u8(e->recv.size), GM_HIGH_PRIORITY);
        break;
    default:
        gm_unknown(port, e);
    }
}

static void send_message(void *at, long size, int priority) {
    while (tokens == 0)
        step(gm_receive(port));
    tokens--;
    gm_send_with_callback(port, at, gm_min_size_for_length(size), size, priority, node, other_port, sent, NULL);
}

static void await(long *counter, long value) {
    while (*counter < value)
        step(gm_receive(port));
    *counter -= value;
}

static long agree(int rank, long value) {
    static long told;
    if (rank == 0) {
        told = value;
        send_message(&told, sizeof told, GM_HIGH_PRIORITY);
        await(&answers, 1);
    } else {
        await(&answers, 1);
        told = value = answer;
        send_message(&told, sizeof told, GM_HIGH_PRIORITY);
    }
    return value;
}

static void am_lat(int rank, long count, long size) {
    for (; count > 0; count--) {
        if (rank == 0)
            send_message(message, size, GM_LOW_PRIORITY);
        await(&received, 1);
        if (rank == 1)
            send_message(message, size, GM_LOW_PRIORITY);
    }
}

/* As many messages are under way as there are tokens and buffers; one comes back when all have arrived. */
static void stream(int rank, long count, long size) {
    if (rank == 1) {
        await(&received, count);
        send_message(message, 8, GM_LOW_PRIORITY);
        return;
    }
    for (; count > 0; count--) {
        /* Who has sent some looks what has come back. */
        if (tokens < 16)
            step(gm_receive(port));
        send_message(message, size, GM_LOW_PRIORITY);
    }
    await(&received, 1);
}

static void opens(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--) {
        struct gm_port *another;
        double begin;
        check(gm_open(&another, 0, OPENED_PORT, "opened", GM_API_VERSION_2_0), "gm_open");
        begin = now_ns();
        gm_close(another);
        aside_ns += now_ns() - begin;
    }
}

static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 1, MAX_SIZE, "gm_send_with_callback, gm_receive"},
    {"am_rate", MILLIONS, stream, 1, 4096, "gm_send_with_callback"},
    {"am_bw", GIGABYTES, stream, 1, MAX_SIZE, "gm_send_with_callback"},
    {"gm_open", NS, opens, 0, 0, "gm_open"},
};

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* What gm_blocking_receive takes of a core while it waits for a message, in percent. */
static void blocked(const struct arguments *a, int rank) {
    double percents[LONG_WAITS];
    int wait;
    for (wait = 0; wait < LONG_WAITS; wait++) {
        agree(rank, 0);
        if (rank == 1) {
            usleep(300000);
            send_message(message, 8, GM_LOW_PRIORITY);
        } else {
            double begin = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            while (received == 0)
                step(gm_blocking_receive(port));
            used = seconds_of(CLOCK_THREAD_CPUTIME_ID) - used;
            percents[wait] = 100 * used / (seconds_of(CLOCK_MONOTONIC) - begin);
            received = 0;
        }
    }
    if (rank != 0)
        return;
    qsort(percents, LONG_WAITS, sizeof *percents, ascending);
    printf("{\"bench\":\"blocked\",\"peer\":\"%s\",\"transport\":\"%s\",\"size\":0,\"value\":%.4f,\"unit\":\"%%\","
           "\"min\":%.4f,\"max\":%.4f,\"samples\":%d,\"note\":\"gm_blocking_receive\"}\n",
           a->peer, a->transport, percents[LONG_WAITS / 2], percents[0], percents[LONG_WAITS - 1], LONG_WAITS);
    fflush(stdout);
}

static void provide(long size, int count, int priority) {
    for (; count > 0; count--) {
        char *buffer = gm_dma_malloc(port, size);
        memset(buffer, 0, size);
        gm_provide_receive_buffer(port, buffer, gm_min_size_for_length(size), priority);
    }
}

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    int rank = atoi(getenv("MP_CHILD")), i;
    unsigned classes = 0;
    other_port = rank == 0 ? SECOND_PORT : FIRST_PORT;
    check(gm_init(), "gm_init");
    check(gm_open(&port, 0, rank == 0 ? FIRST_PORT : SECOND_PORT, "lapis-bench", GM_API_VERSION_2_0), "gm_open");
    check(gm_get_node_id(port, &node), "gm_get_node_id");
    tokens = gm_num_send_tokens(port);
    message = gm_dma_malloc(port, MAX_SIZE);
    memset(message, 1, MAX_SIZE);
    provide(8, 4, GM_HIGH_PRIORITY);
    provide(8, TOKENS, GM_LOW_PRIORITY);
    /* Of each other size class as much as a stream needs. */
    for (i = 0; i < a.size_count; i++)
        if (a.sizes[i] > 8 && a.sizes[i] <= MAX_SIZE && !(classes >> gm_min_size_for_length(a.sizes[i]) & 1)) {
            unsigned size = gm_min_size_for_length(a.sizes[i]);
            classes |= 1u << size;
            provide(gm_max_length_for_size(size), a.sizes[i] <= SMALL ? TOKENS / 2 : BUFFERS, GM_LOW_PRIORITY);
        }
    agree(rank, 0);
    measure_all(&a, benches, sizeof benches / sizeof *benches, rank);
    if (wanted(&a, "blocked"))
        blocked(&a, rank);
    agree(rank, 0);
    gm_close(port);
    gm_finalize();
    return 0;
}
