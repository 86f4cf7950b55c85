/*
 * A ring of puts: each task writes into its neighbour's memory, and a target counter tells the neighbour.
 *
 *     lapicc ring_put.c -o ring_put && lapirun -n 4 ./ring_put
 *
 * After as many steps as there are tasks, every task has seen every other task's value once.
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two boxes in turn: a neighbour that is faster than we are writes the other one. */
static int boxes[2];
static lapi_cntr_t filled;

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
    void **far_boxes = malloc(tasks * sizeof(void *)), **far_counters = malloc(tasks * sizeof(void *));
    LAPI_Setcntr(hndl, &filled, 0);
    LAPI_Address_init(hndl, boxes, far_boxes);
    LAPI_Address_init(hndl, &filled, far_counters);

    int next = (task + 1) % tasks, value = task + 1, sum = 0;
    for (int step = 0; step < tasks; step++) {
        int *there = (int *)far_boxes[next] + step % 2;
        lapi_cntr_t written;
        LAPI_Setcntr(hndl, &written, 0);
        LAPI_Put(hndl, next, sizeof value, there, &value, far_counters[next], NULL, &written);
        LAPI_Waitcntr(hndl, &filled, 1, NULL);  /* Ours has arrived from the other side, ... */
        LAPI_Waitcntr(hndl, &written, 1, NULL); /* ... and what we sent has left `value`. */
        value = boxes[step % 2];
        sum += value;
        LAPI_Gfence(hndl); /* All have read before anybody writes that box again. */
    }
    printf("task %d: sum %d, expected %d\n", task, sum, tasks * (tasks + 1) / 2);
    LAPI_Gfence(hndl);
    LAPI_Term(hndl);
    return sum != tasks * (tasks + 1) / 2;
}
