/*
 * Task 1 is stopped for as long as the error handler of task 0 takes to hear of a timeout; then both go on. The argument says
 * what task 0 waits in. With "never", nothing is heard for longer than that; with "alone" there is no error handler.
 */
//= LAPI Guide, Registering an error handler, LAPI_ERR_TIMEOUT when a task does not acknowledge
//= type=test
#include "../programs/check.h"
#include <signal.h>

static volatile int heard;
static void **processes;
static lapi_cntr_t cmpl;
static char box[8], data[16000], into[16000];

static void resume(void)
{
    CHECK(kill((pid_t)(intptr_t)processes[1], SIGCONT) == 0);
}

static void *receive(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len, compl_hndlr_t **done_with, void **user)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)user;
    CHECK(*len == sizeof into);
    *done_with = NULL;
    return into;
}

/* A call that can't end before task 1 goes on. */
static void wait_for_it(const char *how, void **boxes, void **handlers)
{
    if (strcmp(how, "barrier") == 0) {
        OK(LAPI_Gfence(hndl));
        return;
    }
    if (strcmp(how, "get") == 0) {
        OK(LAPI_Get(hndl, 1, sizeof box, boxes[1], box, NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        return;
    }
    if (strcmp(how, "room") == 0) {
        for (int i = 0; i < 100000 && !heard; i++)
            OK(LAPI_Amsend(hndl, 1, handlers[1], NULL, 0, data, sizeof data, NULL, NULL, NULL));
        CHECK(heard);
    }
    for (int i = 0; i < 10; i++)
        OK(LAPI_Put(hndl, 1, sizeof box, boxes[1], box, NULL, NULL, &cmpl));
    if (strcmp(how, "never") == 0) {
        for (int i = 0; i < 130; i++) {
            OK(LAPI_Probe(hndl));
            usleep(100000);
        }
        CHECK(heard == 0);
        resume();
    }
    if (strcmp(how, "poll") == 0) {
        while (!heard)
            OK(LAPI_Probe(hndl));
    }
    if (strcmp(how, "fence") == 0 || strcmp(how, "alone") == 0)
        OK(LAPI_Fence(hndl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 10, NULL));
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
    const char *how = argc > 1 ? argv[1] : "counter";
    if (strcmp(how, "alone") != 0)
        info.err_hndlr = (void *)on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Senv(hndl, TIMEOUT, 10));
    OK(LAPI_Qenv(hndl, TIMEOUT, &seconds));
    CHECK(tasks == 2 && seconds == 10);
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(box), **handlers = exchange((void *)receive);
    processes = exchange((void *)(intptr_t)getpid());
    OK(LAPI_Gfence(hndl));
    if (me == 1)
        raise(SIGSTOP);
    if (me == 0) {
        usleep(200000);
        wait_for_it(how, boxes, handlers);
        CHECK(heard == (strcmp(how, "never") != 0));
    }
    if (me == 1 || strcmp(how, "barrier") != 0)
        OK(LAPI_Gfence(hndl));
    OK(LAPI_Term(hndl));
    return 0;
}
