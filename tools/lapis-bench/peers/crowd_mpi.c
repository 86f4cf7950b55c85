/* An MPI with more ranks than cores, or with others' processes beside it: the same as crowd.c. */
#include "measure.h"
#include "crowd.h"

#include <mpi.h>

static int ranks;
static char *blocks, *sink;
static uint64_t *shared_table;
static MPI_Win window;

static long agree(int rank, long value) {
    (void)rank;
    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return value;
}

static void fence(int rank, long count, long size) {
    (void)rank, (void)size;
    for (; count > 0; count--)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void alltoall(int rank, long count, long size) {
    (void)rank;
    for (; count > 0; count--)
        MPI_Alltoall(blocks, size, MPI_CHAR, sink, size, MPI_CHAR, MPI_COMM_WORLD);
}

static void update_all(int rank, long count) {
    struct random r = random_of(rank);
    for (; count > 0; count--) {
        uint64_t value = next_random(&r);
        MPI_Accumulate(&value, 1, MPI_UINT64_T, value / TABLE % ranks, value % TABLE, 1, MPI_UINT64_T, MPI_BXOR, window);
        /* The value must stay until the operation has read it. */
        MPI_Win_flush_local(value / TABLE % ranks, window);
    }
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void random_access(int rank, long count, long size) {
    (void)size;
    update_all(rank, (count + 1) / 2);
    update_all(rank, (count + 1) / 2);
    memcpy(table, shared_table, sizeof table);
    verify(rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Requests and replies without threads: what MPI does best. */
static void serve_pairs(int rank, long count, long size) {
    int other = rank ^ 1;
    if (other >= ranks)
        return;
    for (; count > 0; count--) {
        if (rank % 2 == 0)
            MPI_Send(blocks, size, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        MPI_Recv(sink, size, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2 == 1)
            MPI_Send(blocks, size, MPI_CHAR, other, 1, MPI_COMM_WORLD);
    }
}

static const struct bench benches[] = {
    {"fence", NS, fence, 0, 0, "MPI_Barrier"},
    {"alltoall_put", NS, alltoall, 1, MAX_BLOCK, "MPI_Alltoall"},
    {"random_access", NS, random_access, 16, 16, "MPI_Accumulate, MPI_Win_flush_local; both ways and checked"},
    {"serve", NS, serve_pairs, 8, 8, "MPI_Send, MPI_Recv, without threads"},
};

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 2)
        pin_to(rank);
    blocks = written_memory((size_t)ranks * MAX_BLOCK);
    sink = written_memory((size_t)ranks * MAX_BLOCK);
    if (wanted(&a, "random_access")) {
        MPI_Win_allocate(sizeof table, sizeof *table, MPI_INFO_NULL, MPI_COMM_WORLD, &shared_table, &window);
        memset(shared_table, 0, sizeof table);
        MPI_Win_lock_all(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    measure_all(&a, benches, sizeof benches / sizeof *benches, rank);
    if (wanted(&a, "random_access")) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    free(blocks);
    free(sink);
    MPI_Finalize();
    return 0;
}
