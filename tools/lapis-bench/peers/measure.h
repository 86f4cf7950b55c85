/* What the peers' programs share: arguments, batches against a time budget, lines of JSON as docs/bench-format.md has them.
 *
 * Both ranks run the same batches; rank 0 keeps the time and decides how many operations the next batch has.
 */
#ifndef LAPIS_BENCH_MEASURE_H
#define LAPIS_BENCH_MEASURE_H

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SAMPLES = 4096, MAX_SIZES = 64, MIN_SAMPLES = 5 };

/* A batch has so many calls, unless it takes so long: in a collective rank 0 may begin after the others and end before
 * them, so that its time for a single call can be half of what the call takes. */
enum { MIN_CALLS = 16 };
#define LONG_BATCH_NS 2.5e8

/* How nanoseconds per operation become a figure. */
enum unit { HALF_NS, NS, GIGABYTES, MILLIONS };

struct arguments {
    const char *peer, *transport, *benches;
    long sizes[MAX_SIZES];
    int size_count;
    double budget_ns;
};

/* One benchmark: what both ranks do `count` times with messages of `size` bytes. */
struct bench {
    const char *name;
    enum unit unit;
    void (*batch)(int rank, long count, long size);
    long min_size, max_size; /* sizes outside are left out */
    const char *note;
};

/* Given by the program: rank 0's value, on both ranks; both have arrived when it returns. */
static long agree(int rank, long value);

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Between two looks at a word that another core writes: without it the reader takes the line away from the writer. */
static inline void pause_between_looks(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Memory that has been written. All pages of memory that never was are one page of zeros, which stays in the first
 * cache: who sends from there looks faster than any program can be. */
static inline char *written_memory(size_t bytes) {
    char *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "out of memory: %zu bytes for a buffer\n", bytes);
        exit(1);
    }
    memset(memory, 1, bytes);
    return memory;
}

/* Pins the caller to one of the cores that it may use: ranks take them in turns. */
static void pin_to(int rank) {
    cpu_set_t allowed, one;
    int core, seen = 0, chosen = -1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &allowed))
            continue;
        if (seen == rank % CPU_COUNT(&allowed))
            chosen = core;
        seen++;
    }
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        perror("sched_setaffinity");
}

/* program PEER TRANSPORT BENCHES SIZES MILLISECONDS; lists with commas. */
static struct arguments read_arguments(int argc, char **argv) {
    struct arguments a = {0};
    char *text, *part;
    if (argc != 6) {
        fprintf(stderr, "usage: %s PEER TRANSPORT BENCH,... SIZE,... MILLISECONDS\n", argv[0]);
        exit(2);
    }
    a.peer = argv[1];
    a.transport = argv[2];
    a.benches = argv[3];
    text = strdup(argv[4]);
    for (part = strtok(text, ","); part && a.size_count < MAX_SIZES; part = strtok(NULL, ","))
        a.sizes[a.size_count++] = atol(part);
    free(text);
    a.budget_ns = atof(argv[5]) * 1e6;
    return a;
}

static int wanted(const struct arguments *a, const char *name) {
    size_t length = strlen(name);
    const char *at;
    for (at = a->benches; (at = strstr(at, name)) != NULL; at += length)
        if ((at == a->benches || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return 1;
    return 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double converted(double ns, enum unit unit, long size) {
    switch (unit) {
    case HALF_NS: return ns / 2;
    case NS: return ns;
    case GIGABYTES: return size / ns;
    case MILLIONS: return 1e3 / ns;
    }
    return 0;
}

/* What the batch under way has spent on what is not to be measured. */
static double aside_ns;

static double timed(const struct bench *b, int rank, long count, long size) {
    double start = now_ns();
    aside_ns = 0;
    b->batch(rank, count, size);
    return now_ns() - start - aside_ns;
}

static void measure(const struct arguments *a, const struct bench *b, int rank, long size) {
    static const char *const units[] = {"ns", "ns", "GB/s", "M/s"};
    static double samples[MAX_SAMPLES];
    double batch_ns = a->budget_ns / 40, begin, low, high, middle;
    long count = 1, taken = 0;
    if (batch_ns < 2e5)
        batch_ns = 2e5;
    for (;;) { /* grow the batch; the best of two, since first touches are slow */
        double took, again;
        int enough;
        agree(rank, 0);
        took = timed(b, rank, count, size);
        agree(rank, 0);
        again = timed(b, rank, count, size);
        took = took < again ? took : again;
        enough = count >= MIN_CALLS || took >= LONG_BATCH_NS;
        if (agree(rank, (took >= batch_ns / 2 && enough) || count >= 1L << 24))
            break;
        count *= 2;
    }
    begin = now_ns();
    do {
        agree(rank, 0);
        samples[taken++] = timed(b, rank, count, size) / count;
    } while (agree(rank, taken < MAX_SAMPLES && (taken < MIN_SAMPLES || now_ns() - begin < a->budget_ns)));
    if (rank != 0)
        return;
    qsort(samples, taken, sizeof *samples, ascending);
    middle = converted((samples[(taken - 1) / 2] + samples[taken / 2]) / 2, b->unit, size);
    low = converted(samples[0], b->unit, size);
    high = converted(samples[taken - 1], b->unit, size);
    printf("{\"bench\":\"%s\",\"peer\":\"%s\",\"transport\":\"%s\",\"size\":%ld,\"value\":%.4f,\"unit\":\"%s\","
           "\"min\":%.4f,\"max\":%.4f,\"samples\":%ld,\"note\":\"%s\"}\n",
           b->name, a->peer, a->transport, size, middle, units[b->unit], low < high ? low : high,
           low < high ? high : low, taken, b->note);
    fflush(stdout);
}

static void measure_all(const struct arguments *a, const struct bench *table, int table_length, int rank) {
    int i, s;
    for (i = 0; i < table_length; i++) {
        if (!wanted(a, table[i].name))
            continue;
        if (table[i].min_size == table[i].max_size) /* its size is given */
            measure(a, &table[i], rank, table[i].min_size);
        else
            for (s = 0; s < a->size_count; s++)
                if (a->sizes[s] >= table[i].min_size && a->sizes[s] <= table[i].max_size)
                    measure(a, &table[i], rank, a->sizes[s]);
    }
}

#endif
