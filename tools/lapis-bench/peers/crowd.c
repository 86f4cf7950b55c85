/* Lapis with more tasks than cores, or with others' processes beside it: any number of tasks, through the C interface.
 *
 * crowd_mpi.c does the same with an MPI.
 */
#include "measure.h"
#include "crowd.h"

#include <lapi.h>
#include <stdint.h>

enum { MAX_TASKS_HERE = 256, REQUEST = 1, ANSWER, UPDATE };

static lapi_handle_t handle;
static int me, tasks;
static char *blocks, *sink;
static volatile long agreed;
static void *sinks[MAX_TASKS_HERE], *words[MAX_TASKS_HERE], *counters[2][MAX_TASKS_HERE];
static lapi_cntr_t landed[2], told;
static void *told_at[MAX_TASKS_HERE];
static volatile long answers, served;

static void check(int code, const char *what) {
    char text[LAPI_MAX_ERR_STRING];
    if (code == LAPI_SUCCESS)
        return;
    LAPI_Msg_string(code, text);
    fprintf(stderr, "crowd: %s: %s\n", what, text);
    exit(1);
}

/* Task 0 puts its value into everybody's word and counts there. */
static long agree(int rank, long value) {
    int task, left;
    if (rank == 0) {
        for (task = 1; task < tasks; task++)
            check(LAPI_Put(handle, task, sizeof value, words[task], &value, told_at[task], NULL, NULL), "Put");
    } else {
        check(LAPI_Waitcntr(handle, &told, 1, &left), "Waitcntr");
        /* Before the fence: behind it task 0 may say the next one. */
        value = agreed;
    }
    check(LAPI_Gfence(handle), "Gfence");
    return value;
}

static void fence(int rank, long count, long size) {
    (void)rank, (void)size;
    for (; count > 0; count--)
        check(LAPI_Gfence(handle), "Gfence");
}

/* Each task puts a block into each other one and waits for theirs. A task can be one round ahead, whose puts count
 * elsewhere. */
static void alltoall(int rank, long count, long size) {
    static long round;
    int step, left;
    for (; count > 0; count--) {
        int turn = round++ & 1;
        for (step = 1; step < tasks; step++) {
            int to = (rank + step) % tasks;
            char *there = (char *)sinks[to] + rank * size;
            check(LAPI_Put(handle, to, size, there, blocks + to * size, counters[turn][to], NULL, NULL), "Put");
        }
        if (tasks > 1)
            check(LAPI_Waitcntr(handle, &landed[turn], tasks - 1, &left), "Waitcntr");
    }
}

static void *on_update(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    uint64_t value = *(uint64_t *)header;
    table[value % TABLE] ^= value;
    *done = NULL;
    return NULL;
}

/* Every task changes words of all tasks' tables, then everybody waits for everybody. */
static void update_all(int rank, long count) {
    struct random r = random_of(rank);
    for (; count > 0; count--) {
        uint64_t value = next_random(&r);
        int to = value / TABLE % tasks;
        if (to == rank)
            table[value % TABLE] ^= value;
        else
            check(LAPI_Amsend(handle, to, (void *)(intptr_t)UPDATE, &value, sizeof value, NULL, 0, NULL, NULL, NULL),
                  "Amsend");
    }
    check(LAPI_Gfence(handle), "Gfence");
}

static void random_access(int rank, long count, long size) {
    (void)size;
    update_all(rank, (count + 1) / 2);
    update_all(rank, (count + 1) / 2);
    verify(rank);
    /* Nobody begins again while a neighbour still looks. */
    check(LAPI_Gfence(handle), "Gfence");
}

static void serve(lapi_handle_t *h, void *origin) {
    long to = (long)(intptr_t)origin;
    check(LAPI_Amsend(handle, to, (void *)(intptr_t)ANSWER, NULL, 0, blocks, 8, NULL, NULL, NULL), "Amsend");
    served++;
}

/* The answer comes from a completion handler on a handler thread. */
static void *on_request(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    *done = serve;
    *with = (void *)(intptr_t)*(int *)header;
    return NULL;
}

static void *on_answer(lapi_handle_t *h, void *header, uint *length, ulong *size, compl_hndlr_t **done, void **with) {
    ((lapi_return_info_t *)size)->ctl_flags = LAPI_BURY_MSG;
    answers++;
    *done = NULL;
    return NULL;
}

/* Tasks in pairs: the even one asks, the odd one's completion handlers answer. */
static void serve_pairs(int rank, long count, long size) {
    static long asked, to_serve;
    lapi_msg_info_t info;
    (void)size;
    if (rank % 2 == 0 && rank + 1 < tasks)
        for (; count > 0; count--) {
            check(LAPI_Amsend(handle, rank + 1, (void *)(intptr_t)REQUEST, &me, sizeof me, NULL, 0, NULL, NULL, NULL),
                  "Amsend");
            asked++;
            while (answers < asked)
                LAPI_Msgpoll(handle, 100, &info);
        }
    to_serve += rank % 2 == 1 ? count : 0;
    while (served < to_serve)
        LAPI_Msgpoll(handle, 100, &info);
}

static const struct bench benches[] = {
    {"fence", NS, fence, 0, 0, "LAPI_Gfence"},
    {"alltoall_put", NS, alltoall, 1, MAX_BLOCK, "LAPI_Put, LAPI_Waitcntr"},
    {"random_access", NS, random_access, 16, 16, "LAPI_Amsend, LAPI_Gfence; both ways and checked"},
    {"serve", NS, serve_pairs, 8, 8, "request, completion handler, reply"},
};

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    check(LAPI_Init(&handle, &info), "Init");
    check(LAPI_Qenv(handle, TASK_ID, &me), "Qenv");
    check(LAPI_Qenv(handle, NUM_TASKS, &tasks), "Qenv");
    if (tasks > MAX_TASKS_HERE) {
        fprintf(stderr, "crowd: %d tasks, of %d at most\n", tasks, MAX_TASKS_HERE);
        return 2;
    }
    check(LAPI_Senv(handle, INTERRUPT_SET, 0), "Senv");
    check(LAPI_Senv(handle, ERROR_CHK, 0), "Senv");
    blocks = written_memory((size_t)tasks * MAX_BLOCK);
    sink = written_memory((size_t)tasks * MAX_BLOCK);
    check(LAPI_Addr_set(handle, (void *)on_request, REQUEST), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_answer, ANSWER), "Addr_set");
    check(LAPI_Addr_set(handle, (void *)on_update, UPDATE), "Addr_set");
    check(LAPI_Setcntr(handle, &landed[0], 0), "Setcntr");
    check(LAPI_Setcntr(handle, &landed[1], 0), "Setcntr");
    check(LAPI_Setcntr(handle, &told, 0), "Setcntr");
    check(LAPI_Address_init(handle, sink, sinks), "Address_init");
    check(LAPI_Address_init(handle, (void *)&agreed, words), "Address_init");
    check(LAPI_Address_init(handle, &landed[0], counters[0]), "Address_init");
    check(LAPI_Address_init(handle, &landed[1], counters[1]), "Address_init");
    check(LAPI_Address_init(handle, &told, told_at), "Address_init");
    check(LAPI_Gfence(handle), "Gfence");
    measure_all(&a, benches, sizeof benches / sizeof *benches, me);
    check(LAPI_Gfence(handle), "Gfence");
    check(LAPI_Term(handle), "Term");
    return 0;
}
