/*
 * How long a message takes: two tasks throw one back and forth.
 *
 *     lapicc -O2 pingpong.c -o pingpong && lapirun -n 2 ./pingpong
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 2000
#define LARGEST (1 << 20)

static char buffer[LARGEST];
static lapi_cntr_t arrived;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void)
{
    lapi_handle_t hndl;
    lapi_info_t info;
    int task, tasks;

    memset(&info, 0, sizeof info);
    if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
        return 1;
    LAPI_Qenv(hndl, TASK_ID, &task);
    LAPI_Qenv(hndl, NUM_TASKS, &tasks);
    if (tasks != 2) {
        fprintf(stderr, "pingpong needs two tasks, not %d\n", tasks);
        return 1;
    }
    void *buffers[2], *counters[2];
    LAPI_Setcntr(hndl, &arrived, 0);
    LAPI_Address_init(hndl, buffer, buffers);
    LAPI_Address_init(hndl, &arrived, counters);

    /* Both tasks do nothing but wait for messages: a thread that serves them besides would only be in the way. */
    LAPI_Senv(hndl, INTERRUPT_SET, 0);
    int other = 1 - task;
    if (task == 0)
        printf("   bytes   microseconds one way\n");
    for (ulong len = 1; len <= LARGEST; len *= 32) {
        int rounds = len > 4096 ? ROUNDS / 20 : ROUNDS;
        LAPI_Gfence(hndl);
        double start = seconds();
        for (int i = 0; i < rounds; i++) {
            if (task == 1)
                LAPI_Waitcntr(hndl, &arrived, 1, NULL);
            LAPI_Put(hndl, other, len, buffers[other], buffer, counters[other], NULL, NULL);
            if (task == 0)
                LAPI_Waitcntr(hndl, &arrived, 1, NULL);
            LAPI_Fence(hndl); /* The buffer is about to be used again. */
        }
        if (task == 0)
            printf("%8lu   %8.2f\n", len, (seconds() - start) / rounds / 2 * 1e6);
    }
    LAPI_Gfence(hndl);
    if (task == 0)
        printf("done\n");
    LAPI_Term(hndl);
    return 0;
}
