/*
 * The tasks of this program are started by hand: see README.md. Nothing in it says so.
 *
 *     lapicc hello.c -o hello && sh by_hand.sh 2 ./hello
 */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    lapi_handle_t hndl;
    lapi_info_t info;
    int task, tasks;

    /* LAPI wants the structure zeroed: fields that we don't set are its own. */
    memset(&info, 0, sizeof info);
    if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
        return 1;
    LAPI_Qenv(hndl, TASK_ID, &task);
    LAPI_Qenv(hndl, NUM_TASKS, &tasks);
    printf("hello from task %d of %d\n", task, tasks);
    LAPI_Term(hndl);
    return 0;
}
