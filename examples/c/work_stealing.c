/*
 * Sharing work by fetch-and-add: the number of the next piece of work is a variable of task 0, and whoever is free adds one
 * to it. No task plans, and none serves the others: the atomic operation happens in task 0's memory without its help.
 *
 *     lapicc work_stealing.c -o work_stealing && lapirun -n 4 ./work_stealing
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 400

static int next_piece;
static int total;
static lapi_cntr_t answered;

/* A piece of work whose length nobody knows beforehand: the Collatz steps of a number. */
static int work(int piece)
{
    long n = piece + 1;
    int steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
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
    void **pieces = malloc(tasks * sizeof(void *)), **totals = malloc(tasks * sizeof(void *));
    LAPI_Setcntr(hndl, &answered, 0);
    LAPI_Address_init(hndl, &next_piece, pieces);
    LAPI_Address_init(hndl, &total, totals);

    int one = 1, piece, done = 0, steps = 0;
    for (;;) {
        LAPI_Rmw(hndl, FETCH_AND_ADD, 0, pieces[0], &one, &piece, &answered);
        LAPI_Waitcntr(hndl, &answered, 1, NULL);
        if (piece >= PIECES)
            break;
        steps += work(piece);
        done++;
    }
    LAPI_Rmw(hndl, FETCH_AND_ADD, 0, totals[0], &steps, NULL, NULL);
    fprintf(stderr, "task %d took %d pieces\n", task, done);
    LAPI_Gfence(hndl);

    if (task == 0) {
        int expected = 0;
        for (int i = 0; i < PIECES; i++)
            expected += work(i);
        printf("%d steps in %d pieces, %s\n", total, PIECES, total == expected ? "as expected" : "WRONG");
    }
    LAPI_Term(hndl);
    return 0;
}
