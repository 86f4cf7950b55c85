/*
 * A work-stealing queue in global memory: each process has a row of tasks and a counter of the next
 * one; whoever has none left takes from the others by one atomic addition. Nobody answers: all tasks
 * of a process that only computes can be taken.
 */
#include <acp.h>
#include <stdio.h>

enum { TASKS = 200 };

static acp_ga_t scratch;
static volatile uint64_t *local;

static uint64_t value(acp_ga_t place)
{
    acp_complete(acp_copy(scratch, place, sizeof(uint64_t), ACP_HANDLE_NULL));
    return local[0];
}

/* Takes a task of a queue (counter, tasks); 0 if there is none left. */
static uint64_t take(acp_ga_t queue, uint64_t tasks)
{
    acp_complete(acp_add8(scratch, queue, 1, ACP_HANDLE_NULL));
    uint64_t at = local[0];
    return at < tasks ? value(queue + 8 * (1 + at)) : 0;
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv))
        return 1;
    int me = acp_rank(), procs = acp_procs();
    scratch = acp_malloc(64, me);
    local = acp_query_address(scratch);

    /* Work is dealt unevenly: the first process has all of it. The starter memory has, of each
     * process, where its queue is and how many tasks it had; at the first one, the totals, too. */
    uint64_t mine = me == 0 ? TASKS : 1;
    acp_ga_t queue = acp_malloc(8 * (1 + mine), me);
    if (scratch == ACP_GA_NULL || queue == ACP_GA_NULL)
        acp_abort("no memory for the queue");
    uint64_t *row = acp_query_address(queue);
    row[0] = 0;
    for (uint64_t task = 1; task <= mine; task++)
        row[task] = task;
    uint64_t *starter = acp_query_address(acp_query_starter_ga(me));
    starter[0] = queue;
    starter[1] = mine;
    acp_sync();

    /* Its own first, then the others' in turn. */
    uint64_t sum = 0, done = 0, task;
    for (int turn = 0; turn < procs; turn++) {
        acp_ga_t there = acp_query_starter_ga((me + turn) % procs);
        acp_ga_t victim = value(there);
        uint64_t tasks = value(there + 8);
        while ((task = take(victim, tasks))) {
            sum += task * task;
            done++;
        }
    }
    acp_add8(scratch + 8, acp_query_starter_ga(0) + 16, done, ACP_HANDLE_NULL);
    acp_add8(scratch + 8, acp_query_starter_ga(0) + 24, sum, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    acp_sync();
    if (me == 0) {
        printf("%d tasks\n", (int)starter[2]);
        printf("sum of squares %d\n", (int)starter[3]);
    }
    return acp_finalize();
}
