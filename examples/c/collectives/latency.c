/*
 * What each collective costs, by bytes of a member's part: microseconds of a call, as the members see it on the average, the
 * quickest and the slowest one. Begun and waited for at once (-i) or set up once (-p) instead of called:
 *
 *     lapirun -n 4 latency [-i | -p] [collective ...]
 */
#include <lapis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUST(call) \
    do { \
        if ((call) != LAPI_SUCCESS) { \
            char why_[256]; \
            lapis_error_text(why_, sizeof why_); \
            fprintf(stderr, "%s: %s\n", #call, why_); \
            exit(1); \
        } \
    } while (0)

enum { LARGEST = 1 << 20, SHORT_ROUNDS = 1000, LONG_ROUNDS = 20, LONG = 32 << 10 };

static lapi_handle_t hndl;
static unsigned tasks, task;
static char *in, *out;
static ulong *counts, *starts;
static char form; /* 0: called, 'i': begun, 'p': set up */

/* One of the three forms of a collective. */
#define FORM(name, ...) \
    (form == 0 ? lapis_##name(hndl, LAPIS_WORLD, ##__VA_ARGS__) \
     : form == 'i' ? lapis_i##name(hndl, LAPIS_WORLD, ##__VA_ARGS__, request) \
                   : lapis_##name##_init(hndl, LAPIS_WORLD, ##__VA_ARGS__, request))

/* Each takes the bytes of one part. */
static int barrier(ulong n, lapis_request_t *request) { return (void)n, FORM(barrier); }
static int bcast(ulong n, lapis_request_t *request) { return FORM(bcast, out, n, LAPIS_U8, 0); }
static int reduce(ulong n, lapis_request_t *request) { return FORM(reduce, in, out, n / 4, LAPIS_F32, LAPIS_SUM, 0); }
static int allreduce(ulong n, lapis_request_t *request) { return FORM(allreduce, in, out, n / 4, LAPIS_F32, LAPIS_SUM); }
static int reduce_scatter(ulong n, lapis_request_t *request) { return FORM(reduce_scatter_block, in, out, n / 4, LAPIS_F32, LAPIS_SUM); }
static int scan(ulong n, lapis_request_t *request) { return FORM(scan, in, out, n / 4, LAPIS_F32, LAPIS_SUM); }
static int gather(ulong n, lapis_request_t *request) { return FORM(gather, in, out, n, LAPIS_U8, 0); }
static int scatter(ulong n, lapis_request_t *request) { return FORM(scatter, in, out, n, LAPIS_U8, 0); }
static int allgather(ulong n, lapis_request_t *request) { return FORM(allgather, in, out, n, LAPIS_U8); }
static int alltoall(ulong n, lapis_request_t *request) { return FORM(alltoall, in, out, n, LAPIS_U8); }
static int allgatherv(ulong n, lapis_request_t *request) { return (void)n, FORM(allgatherv, in, out, counts, starts, LAPIS_U8); }
static int alltoallv(ulong n, lapis_request_t *request) { return (void)n, FORM(alltoallv, in, counts, starts, out, counts, starts, LAPIS_U8); }

static const struct collective {
    const char *name;
    int (*call)(ulong, lapis_request_t *);
    ulong smallest, largest;
} all[] = {
    {"barrier", barrier, 0, 0},
    {"bcast", bcast, 1, LARGEST},
    {"reduce", reduce, 4, LARGEST},
    {"allreduce", allreduce, 4, LARGEST},
    {"reduce_scatter", reduce_scatter, 4, LARGEST / 16},
    {"scan", scan, 4, LARGEST},
    {"gather", gather, 1, LARGEST / 16},
    {"scatter", scatter, 1, LARGEST / 16},
    {"allgather", allgather, 1, LARGEST / 16},
    {"allgatherv", allgatherv, 1, LARGEST / 16},
    {"alltoall", alltoall, 1, LARGEST / 16},
    {"alltoallv", alltoallv, 1, LARGEST / 16},
};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

/* Microseconds of a call, here. */
static double measure(const struct collective *of, ulong bytes)
{
    int round, rounds = bytes > LONG ? LONG_ROUNDS : SHORT_ROUNDS;
    lapis_request_t request = LAPIS_NO_REQUEST;
    double spent = 0;

    for (unsigned m = 0; m < tasks; m++) {
        counts[m] = bytes;
        starts[m] = m * bytes;
    }
    if (form == 'p')
        MUST(of->call(bytes, &request));
    for (round = -rounds / 10; round < rounds; round++) {
        double start = microseconds();
        if (form == 'p')
            MUST(lapis_start(hndl, &request));
        else
            MUST(of->call(bytes, &request));
        MUST(lapis_wait(hndl, &request));
        if (round >= 0)
            spent += microseconds() - start;
        /* Nobody starts the next one early. */
        MUST(lapis_barrier(hndl, LAPIS_WORLD));
    }
    if (form == 'p')
        MUST(lapis_request_free(hndl, &request));
    return spent / rounds;
}

static void table(const struct collective *of)
{
    if (task == 0)
        printf("# %s, %u tasks\n#%11s %10s %10s %10s\n", of->name, tasks, "bytes", "average", "quickest", "slowest");
    for (ulong bytes = of->smallest; bytes <= of->largest; bytes *= 4) {
        double mine = measure(of, bytes), sum, least, most;
        MUST(lapis_reduce(hndl, LAPIS_WORLD, &mine, &sum, 1, LAPIS_F64, LAPIS_SUM, 0));
        MUST(lapis_reduce(hndl, LAPIS_WORLD, &mine, &least, 1, LAPIS_F64, LAPIS_MIN, 0));
        MUST(lapis_reduce(hndl, LAPIS_WORLD, &mine, &most, 1, LAPIS_F64, LAPIS_MAX, 0));
        if (task == 0)
            printf("%12lu %10.2f %10.2f %10.2f\n", bytes, sum / tasks, least, most);
        if (bytes == 0)
            break;
    }
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    int first = 1;

    memset(&info, 0, sizeof info);
    if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
        return 1;
    MUST(lapis_team_rank(hndl, LAPIS_WORLD, &task));
    MUST(lapis_team_size(hndl, LAPIS_WORLD, &tasks));
    if (argc > 1 && (!strcmp(argv[1], "-i") || !strcmp(argv[1], "-p")))
        form = argv[first++][1];
    ulong room = LARGEST > tasks * (LARGEST / 16) ? LARGEST : tasks * (LARGEST / 16);
    in = calloc(room, 1);
    out = calloc(room, 1);
    counts = malloc(tasks * sizeof *counts);
    starts = malloc(tasks * sizeof *starts);
    /* All tasks do nothing but call: a thread that serves messages besides would only be in the way. */
    LAPI_Senv(hndl, INTERRUPT_SET, 0);
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++) {
        int wanted = first == argc;
        for (int i = first; i < argc; i++)
            wanted |= !strcmp(argv[i], all[at].name);
        if (wanted)
            table(&all[at]);
    }
    if (task == 0)
        printf("done\n");
    LAPI_Gfence(hndl);
    LAPI_Term(hndl);
    return 0;
}
