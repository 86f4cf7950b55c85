/* The last task dies in the middle; the others' error handlers hear of it and end the program in order. */
#include "../programs/check.h"
#include <signal.h>

static volatile int heard;
static lapi_cntr_t never;

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    CHECK(*h == hndl && *task == me && *source == tasks - 1);
    CHECK(*code == LAPI_ERR_NO_CONNECTIVITY && *type == LAPI_COMMUNICATION_ERROR);
    heard++;
    if (LAPI_Term(*h) == LAPI_SUCCESS)
        exit(42);
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    (void)argv;
    if (argc > 1)
        info.err_hndlr = (void *)on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Setcntr(hndl, &never, 0));
    OK(LAPI_Gfence(hndl));
    if (me == tasks - 1)
        kill(getpid(), SIGKILL);
    LAPI_Waitcntr(hndl, &never, 1, NULL);
    for (;;)
        pause();
}
