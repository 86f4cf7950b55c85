/*
 * Task 1 is stopped for as long as the error handler of task 0 takes to hear of a timeout; then both go on. With "never",
 * nothing is heard for longer than that.
 */
//= LAPI Guide, Registering an error handler, LAPI_ERR_TIMEOUT when a task does not acknowledge
//= type=test
#include "../programs/check.h"
#include <signal.h>

static volatile int heard;
static void **processes;
static lapi_cntr_t cmpl;
static char box[8];

static void resume(void)
{
    CHECK(kill((pid_t)(intptr_t)processes[1], SIGCONT) == 0);
}

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    CHECK(*h == hndl && *task == 0 && *source == 1);
    CHECK(*code == LAPI_ERR_TIMEOUT && *type == LAPI_COMMUNICATION_ERROR);
    heard++;
    resume();
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    int seconds;
    memset(&info, 0, sizeof info);
    (void)argv;
    info.err_hndlr = (void *)on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Senv(hndl, TIMEOUT, 10));
    OK(LAPI_Qenv(hndl, TIMEOUT, &seconds));
    CHECK(tasks == 2 && seconds == 10);
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(box);
    processes = exchange((void *)(intptr_t)getpid());
    OK(LAPI_Gfence(hndl));
    if (me == 1)
        raise(SIGSTOP);
    if (me == 0) {
        usleep(200000);
        for (int i = 0; i < 10; i++)
            OK(LAPI_Put(hndl, 1, sizeof box, boxes[1], box, NULL, NULL, &cmpl));
        if (argc > 1) {
            for (int i = 0; i < 130; i++) {
                OK(LAPI_Probe(hndl));
                usleep(100000);
            }
            CHECK(heard == 0);
            resume();
        }
        OK(LAPI_Waitcntr(hndl, &cmpl, 10, NULL));
        CHECK(heard == (argc == 1));
    }
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Term(hndl));
    return 0;
}
