/*
 * Heat in a rod, whose pieces are processes': each writes the ends of its piece into the neighbours'
 * halos, then a number that says for which step. The number waits for the value, so whoever sees the
 * number has the value.
 */
#include <acp.h>
#include <sched.h>
#include <stdio.h>

enum { CELLS = 6, STEPS = 40 };

/* Starter memory of each process: its halo (for even and odd steps, value and step, from the left
 * and from the right), then what it sends, then its piece of the rod. */
struct rod {
    struct place {
        double value;
        volatile uint64_t step;
    } halo[2][2], sent[2][2];
    double cells[CELLS];
};

/* Writes a value and its step into a process's halo. */
static void send(int to, int buffer, int side, struct rod *rod, double value, uint64_t step)
{
    size_t at = sizeof(struct place) * (2 * buffer + side);
    acp_ga_t from = acp_query_starter_ga(acp_rank()) + offsetof(struct rod, sent) + at;
    acp_ga_t there = acp_query_starter_ga(to) + offsetof(struct rod, halo) + at;
    rod->sent[buffer][side].value = value;
    rod->sent[buffer][side].step = step;
    acp_handle_t data = acp_copy(there, from, sizeof value, ACP_HANDLE_NULL);
    acp_copy(there + offsetof(struct place, step), from + offsetof(struct place, step), sizeof step, data);
}

/* What a neighbour has written for a step. */
static double receive(struct place *place, uint64_t step)
{
    while (place->step != step)
        sched_yield();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return place->value;
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv))
        return 1;
    int me = acp_rank(), procs = acp_procs();
    struct rod *rod = acp_query_address(acp_query_starter_ga(me));
    for (uint64_t step = 1; step <= STEPS; step++) {
        /* Two buffers: a neighbour is at most one step ahead, for it waits for this process, too. */
        int buffer = step % 2;
        if (me > 0)
            send(me - 1, buffer, 1, rod, rod->cells[0], step);
        if (me + 1 < procs)
            send(me + 1, buffer, 0, rod, rod->cells[CELLS - 1], step);
        double left = me > 0 ? receive(&rod->halo[buffer][0], step) : 100;
        double right = me + 1 < procs ? receive(&rod->halo[buffer][1], step) : 0;
        for (int at = 0; at < CELLS; at++) {
            double old = rod->cells[at], after = at + 1 < CELLS ? rod->cells[at + 1] : right;
            rod->cells[at] = old + 0.25 * (left - 2 * old + after);
            left = old;
        }
    }
    acp_sync();
    if (me == 0) {
        acp_ga_t scratch = acp_malloc(sizeof(double) * CELLS * procs, 0);
        double *all = acp_query_address(scratch);
        for (int rank = 0; rank < procs; rank++)
            acp_copy(scratch + sizeof(double) * CELLS * rank,
                     acp_query_starter_ga(rank) + offsetof(struct rod, cells), sizeof rod->cells,
                     ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
        printf("%d cells after %d steps:", CELLS * procs, STEPS);
        for (int at = 0; at < CELLS * procs; at += 4)
            printf(" %.3f", all[at]);
        printf("\n");
    }
    return acp_finalize();
}
