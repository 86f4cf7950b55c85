/* Ranks of an MPI, measured as lapis-perf measures Lapis: two, or for collectives any number. */
#include "measure.h"

#include <mpi.h>

/* Of messages and windows, and of a member's data or of each part in a collective. */
enum { WINDOW = 64, MAX_SIZE = 64 << 20, MAX_DATA = 4 << 20 };

static char *buffer, *sink, *window_memory;
static int ranks;
static MPI_Win window;
static MPI_Request requests[WINDOW];

static long agree(int rank, long value) {
    (void)rank;
    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return value;
}

static void am_lat(int rank, long count, long size) {
    for (; count > 0; count--) {
        if (rank == 0)
            MPI_Send(buffer, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, size, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
}

/* Windows of messages under way; a last empty one says that all have arrived. */
static void am_stream(int rank, long count, long size) {
    while (count > 0) {
        int i, now = count < WINDOW ? count : WINDOW;
        for (i = 0; i < now; i++)
            if (rank == 0)
                MPI_Isend(buffer, size, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(buffer, size, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(now, requests, MPI_STATUSES_IGNORE);
        count -= now;
    }
    if (rank == 1)
        MPI_Send(buffer, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One-sided: rank 1 waits in a barrier, as the target of an MPI without a progress thread must. */
static void one_sided(int rank, long count, long size, int each, void (*operation)(long size)) {
    if (rank == 0) {
        for (; count > 0; count--) {
            operation(size);
            if (each)
                MPI_Win_flush(1, window);
        }
        MPI_Win_flush(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put(long size) { MPI_Put(buffer, size, MPI_CHAR, 1, 0, size, MPI_CHAR, window); }
static void get(long size) { MPI_Get(buffer, size, MPI_CHAR, 1, 0, size, MPI_CHAR, window); }

static void fetch_add(long size) {
    static const long one = 1;
    (void)size;
    MPI_Fetch_and_op(&one, buffer, MPI_LONG, 1, 0, MPI_SUM, window);
}

static void compare_swap(long size) {
    static const long one = 1, zero = 0;
    (void)size;
    MPI_Compare_and_swap(&one, &zero, buffer, MPI_LONG, 1, 0, window);
}

static void put_each(int r, long n, long s) { one_sided(r, n, s, 1, put); }
static void put_many(int r, long n, long s) { one_sided(r, n, s, 0, put); }
static void get_each(int r, long n, long s) { one_sided(r, n, s, 1, get); }
static void get_many(int r, long n, long s) { one_sided(r, n, s, 0, get); }
static void fadd_each(int r, long n, long s) { one_sided(r, n, s, 1, fetch_add); }
static void fadd_many(int r, long n, long s) { one_sided(r, n, s, 0, fetch_add); }
static void cas_each(int r, long n, long s) { one_sided(r, n, s, 1, compare_swap); }

static void barrier(int rank, long count, long size) {
    (void)rank, (void)size;
    for (; count > 0; count--)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* Roots take turns: a root alone would run ahead of the others. A batch ends when all ranks have ended its calls: in a
 * scan, or with few calls, rank 0 would have ended before them. */
static void bcast(int rank, long count, long size) {
    long i;
    (void)rank;
    for (i = 0; i < count; i++)
        MPI_Bcast(buffer, size, MPI_CHAR, i % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce(int rank, long count, long size) {
    long i;
    (void)rank;
    for (i = 0; i < count; i++)
        MPI_Reduce(buffer, sink, size / sizeof(double), MPI_DOUBLE, MPI_SUM, i % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Allreduce(buffer, sink, size / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce_scatter(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Reduce_scatter_block(buffer, sink, size / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void scan(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Scan(MPI_IN_PLACE, sink, size / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void gather(int rank, long count, long size) {
    long i;
    (void)rank;
    for (i = 0; i < count; i++)
        MPI_Gather(buffer, size, MPI_CHAR, sink, size, MPI_CHAR, i % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void scatter(int rank, long count, long size) {
    long i;
    (void)rank;
    for (i = 0; i < count; i++)
        MPI_Scatter(buffer, size, MPI_CHAR, sink, size, MPI_CHAR, i % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allgather(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Allgather(buffer, size, MPI_CHAR, sink, size, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void alltoall(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Alltoall(buffer, size, MPI_CHAR, sink, size, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 0, MAX_SIZE, "MPI_Send, MPI_Recv"},
    {"am_rate", MILLIONS, am_stream, 0, 4096, "MPI_Isend, 64 under way"},
    {"am_bw", GIGABYTES, am_stream, 1, MAX_SIZE, "MPI_Isend, 64 under way"},
    {"am_copy_lat", HALF_NS, am_lat, 0, MAX_SIZE, "MPI_Send, MPI_Recv"},
    {"am_copy_bw", GIGABYTES, am_stream, 1, MAX_SIZE, "MPI_Isend, 64 under way"},
    {"put_lat", NS, put_each, 1, MAX_SIZE, "MPI_Put, MPI_Win_flush"},
    {"put_rate", MILLIONS, put_many, 1, 4096, "MPI_Put, one flush"},
    {"put_bw", GIGABYTES, put_many, 1, MAX_SIZE, "MPI_Put, one flush"},
    {"get_lat", NS, get_each, 1, MAX_SIZE, "MPI_Get, MPI_Win_flush"},
    {"get_bw", GIGABYTES, get_many, 1, MAX_SIZE, "MPI_Get, one flush"},
    {"fadd", NS, fadd_each, 8, 8, "MPI_Fetch_and_op, MPI_Win_flush"},
    {"fadd_rate", MILLIONS, fadd_many, 8, 8, "MPI_Fetch_and_op, one flush"},
    {"cas", NS, cas_each, 8, 8, "MPI_Compare_and_swap, MPI_Win_flush"},
    {"gfence", NS, barrier, 0, 0, "MPI_Barrier"},
    {"barrier", NS, barrier, 0, 0, "MPI_Barrier"},
    {"bcast", NS, bcast, 1, MAX_DATA, "MPI_Bcast, roots in turn"},
    {"reduce", NS, reduce, 8, MAX_DATA, "MPI_Reduce of doubles, roots in turn"},
    {"allreduce", NS, allreduce, 8, MAX_DATA, "MPI_Allreduce of doubles"},
    {"reduce_scatter", NS, reduce_scatter, 8, MAX_DATA, "MPI_Reduce_scatter_block of doubles"},
    {"scan", NS, scan, 8, MAX_DATA, "MPI_Scan of doubles, in place"},
    {"gather", NS, gather, 1, MAX_DATA, "MPI_Gather, roots in turn"},
    {"scatter", NS, scatter, 1, MAX_DATA, "MPI_Scatter, roots in turn"},
    {"allgather", NS, allgather, 1, MAX_DATA, "MPI_Allgather"},
    {"alltoall", NS, alltoall, 1, MAX_DATA, "MPI_Alltoall"},
};

/* Of this rank or of all, as the launcher tells before MPI starts; NULL if it does not. */
static const char *told(const char *open_mpi, const char *pmi) {
    const char *value = getenv(open_mpi);
    return value ? value : getenv(pmi);
}

/* What any number of ranks do; one-sided operations and messages are for two. */
static int is_collective(const struct arguments *a) {
    static const char *const names[] = {"barrier", "bcast", "reduce", "allreduce", "reduce_scatter",
                                        "scan", "gather", "scatter", "allgather", "alltoall"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(a->benches, names[i]) == 0)
            return 1;
    return 0;
}

/* Data for the longest call: a part of each rank. */
static void collectives(const struct arguments *a, int rank) {
    long longest = sizeof(double);
    int i;
    for (i = 0; i < a->size_count; i++)
        if (a->sizes[i] > longest && a->sizes[i] <= MAX_DATA)
            longest = a->sizes[i];
    buffer = written_memory(longest * ranks);
    sink = written_memory(longest * ranks);
    measure_all(a, benches, sizeof benches / sizeof *benches, rank);
    free(buffer);
    free(sink);
}

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    const char *early = told("OMPI_COMM_WORLD_RANK", "PMI_RANK");
    const char *all = told("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
    int rank;
    if (early && all && atoi(all) == 2) /* before the library starts threads or touches memory */
        pin_to(atoi(early));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_collective(&a)) {
        if (!early && ranks == 2)
            pin_to(rank);
        collectives(&a, rank);
        MPI_Finalize();
        return 0;
    }
    if (ranks != 2) {
        fprintf(stderr, "this needs 2 ranks and has %d\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!early)
        pin_to(rank);
    buffer = written_memory(MAX_SIZE);
    MPI_Win_allocate(MAX_SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window);
    memset(window_memory, 0, MAX_SIZE);
    MPI_Win_lock_all(0, window);
    measure_all(&a, benches, sizeof benches / sizeof *benches, rank);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(buffer);
    MPI_Finalize();
    return 0;
}
