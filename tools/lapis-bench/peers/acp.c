/* Lapis through ACP, started by lapirun. */
#include "measure.h"

#include <acp.h>

enum { MAX_SIZE = 4 << 20, CHAIN = 16, KEYS = 1024, SEEN = 256 };

static int me;
static acp_ga_t mine, theirs; /* MAX_SIZE bytes of each process's heap, twice */
static volatile uint64_t *local;
static acp_ch_t to, from;
static acp_map_t map;
static char *message;

static void fail(const char *what) {
    fprintf(stderr, "acp: %s: %s\n", what, strerror(ACP_ERRNO));
    exit(1);
}

static long agree(int rank, long value) {
    volatile long *word = acp_query_address(acp_query_starter_ga(me));
    if (rank == 0) {
        *word = value;
        acp_complete(acp_copy(acp_query_starter_ga(1), acp_query_starter_ga(0), sizeof value, ACP_HANDLE_NULL));
    }
    acp_sync();
    value = *word;
    acp_sync();
    return value;
}

static void copies(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        acp_complete(acp_copy(theirs, mine, size, ACP_HANDLE_NULL));
}

/* Until the target sees it: a number goes to and fro, one higher each time. It is copied from a line that nobody else
 * writes. Readers pause between looks, as all waits of Lapis do. */
static void seen(int rank, long count, long size) {
    static uint64_t turn;
    for (; count > 0; count--) {
        turn++;
        if (rank == 1)
            while (local[SEEN / 8] != turn)
                pause_between_looks();
        *local = turn;
        acp_copy(theirs + SEEN, mine, 8, ACP_HANDLE_NULL);
        if (rank == 0)
            while (local[SEEN / 8] != turn)
                pause_between_looks();
    }
}

static void adds(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        acp_complete(acp_add8(mine, theirs, 1, ACP_HANDLE_NULL));
}

static void swaps(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        acp_complete(acp_cas8(mine, theirs, count, count - 1, ACP_HANDLE_NULL));
}

/* Each copy waits for the one before. */
static void chain(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--) {
        acp_handle_t last = ACP_HANDLE_NULL;
        for (int at = 0; at < CHAIN; at++)
            last = acp_copy(theirs + 8 * at, mine, size, last);
        acp_complete(last);
    }
}

/* Neither end is the caller. */
static void third(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        acp_complete(acp_copy(theirs + MAX_SIZE, theirs, size, ACP_HANDLE_NULL));
}

static void channel(int rank, long count, long size) {
    for (; count > 0; count--) {
        acp_request_t expected = acp_nbrecv_ch(from, message + MAX_SIZE, size);
        acp_request_t sent = ACP_REQUEST_NULL;
        if (rank == 0)
            sent = acp_nbsend_ch(to, message, size);
        acp_wait_ch(expected);
        if (rank == 1)
            sent = acp_nbsend_ch(to, message, size);
        acp_wait_ch(sent);
    }
}

static void syncs(int rank, long count, long size) {
    for (; count > 0; count--)
        acp_sync();
}

static void mallocs(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--) {
        acp_ga_t ga = acp_malloc(size, 1);
        if (ga == ACP_GA_NULL)
            fail("acp_malloc");
        acp_free(ga);
    }
}

static acp_pair_t pair_of(uint64_t key) {
    acp_pair_t pair = {{mine, 8}, {mine + 8, 8}};
    *local = key;
    return pair;
}

static void lookups(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        if (acp_retrieve_map(map, pair_of(count % KEYS)) != 8)
            fail("acp_retrieve_map");
}

static const struct bench benches[] = {
    {"put_lat", NS, copies, 8, 8, "acp_copy, acp_complete"},
    {"acp_seen", HALF_NS, seen, 8, 8, "acp_copy until the target sees it"},
    {"fadd", NS, adds, 8, 8, "acp_add8"},
    {"cas", NS, swaps, 8, 8, "acp_cas8"},
    {"acp_chain", NS, chain, 8, 8, "16 times acp_copy, each after the one before"},
    {"acp_third", GIGABYTES, third, 1 << 20, 1 << 20, "acp_copy between two places of the other process"},
    {"am_lat", HALF_NS, channel, 1, MAX_SIZE, "acp_nbsend_ch, acp_nbrecv_ch, acp_wait_ch"},
    {"barrier", NS, syncs, 0, 0, "acp_sync"},
    {"acp_malloc", NS, mallocs, 64, 64, "acp_malloc, acp_free of the other process's memory"},
    {"acp_find", NS, lookups, 8, 8, "acp_retrieve_map of a key of the other process"},
};

int main(int argc, char **argv) {
    struct arguments a;
    static const int other[] = {1};
    if (acp_init(&argc, &argv))
        fail("acp_init");
    a = read_arguments(argc, argv);
    me = acp_rank();
    if (acp_procs() != 2)
        fail("two processes are needed");
    mine = acp_malloc(2 * MAX_SIZE, me);
    local = acp_query_address(mine);
    memset((void *)local, 0, 2 * MAX_SIZE);
    message = written_memory(2 * MAX_SIZE);
    acp_ga_t *told = acp_query_address(acp_query_starter_ga(me));
    told[1] = mine;
    if (me == 1) {
        map = acp_create_map(1, other, KEYS, 1);
        told[2] = map.ga;
        for (uint64_t key = 0; key < KEYS; key++)
            acp_insert_map(map, pair_of(key));
        memset((void *)local, 0, SEEN);
    }
    acp_sync();
    acp_ga_t scratch = acp_malloc(24, me);
    acp_complete(acp_copy(scratch, acp_query_starter_ga(1 - me), 24, ACP_HANDLE_NULL));
    acp_ga_t *there = acp_query_address(scratch);
    theirs = there[1];
    if (me == 0) {
        acp_map_t found = {there[2], 1, KEYS};
        map = found;
    }
    to = acp_create_ch(me, 1 - me);
    from = acp_create_ch(1 - me, me);
    if (mine == ACP_GA_NULL || map.ga == ACP_GA_NULL || to == ACP_CH_NULL || from == ACP_CH_NULL)
        fail("set-up");
    acp_sync();
    measure_all(&a, benches, sizeof benches / sizeof *benches, me);
    acp_sync();
    return acp_finalize();
}
