/* OpenSHMEM, started by its launcher: what ACP has counterparts of. */
#include "measure.h"

#include <shmem.h>
#include <stdint.h>

enum { MAX_SIZE = 1 << 20 };

static char *heap; /* symmetric, MAX_SIZE bytes twice */
static volatile uint64_t *turn_word;
static long *variable;
static long *agreed;

static long agree(int rank, long value) {
    if (rank == 0) {
        *agreed = value;
        shmem_long_p(agreed, value, 1);
        shmem_quiet();
    }
    shmem_barrier_all();
    value = *agreed;
    shmem_barrier_all();
    return value;
}

static void puts_(int rank, long count, long size) {
    static const char from[8];
    for (; rank == 0 && count > 0; count--) {
        shmem_putmem(heap, from, size, 1);
        shmem_quiet();
    }
}

/* As ACP's: a number goes to and fro, one higher each time. */
static void seen(int rank, long count, long size) {
    static uint64_t turn;
    for (; count > 0; count--) {
        turn++;
        if (rank == 1)
            while (*turn_word != turn)
                pause_between_looks();
        shmem_uint64_p((uint64_t *)turn_word, turn, 1 - rank);
        if (rank == 0)
            while (*turn_word != turn)
                pause_between_looks();
    }
}

static void adds(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        shmem_long_atomic_fetch_add(variable, 1, 1);
}

static void swaps(int rank, long count, long size) {
    for (; rank == 0 && count > 0; count--)
        shmem_long_atomic_compare_swap(variable, count, count - 1, 1);
}

static void barriers(int rank, long count, long size) {
    for (; count > 0; count--)
        shmem_barrier_all();
}

static const struct bench benches[] = {
    {"put_lat", NS, puts_, 8, 8, "shmem_putmem, shmem_quiet"},
    {"acp_seen", HALF_NS, seen, 8, 8, "shmem_uint64_p until the target sees it"},
    {"fadd", NS, adds, 8, 8, "shmem_long_atomic_fetch_add"},
    {"cas", NS, swaps, 8, 8, "shmem_long_atomic_compare_swap"},
    {"barrier", NS, barriers, 0, 0, "shmem_barrier_all"},
};

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    shmem_init();
    if (shmem_n_pes() != 2) {
        fprintf(stderr, "shmem: two processes are needed\n");
        exit(1);
    }
    heap = shmem_malloc(2 * MAX_SIZE);
    turn_word = shmem_malloc(4096);
    variable = shmem_malloc(4096);
    agreed = shmem_malloc(4096);
    if (!heap || !turn_word || !variable || !agreed) {
        fprintf(stderr, "shmem: no symmetric memory\n");
        exit(1);
    }
    *turn_word = *variable = *agreed = 0;
    shmem_barrier_all();
    pin_to(shmem_my_pe());
    measure_all(&a, benches, sizeof benches / sizeof *benches, shmem_my_pe());
    shmem_barrier_all();
    fflush(NULL);
    /* Not shmem_finalize: Open MPI 4.1.4's ends in a segmentation fault after all is done. */
    shmem_global_exit(0);
}
