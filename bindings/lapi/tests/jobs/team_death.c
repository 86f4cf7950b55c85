/* The last task dies: the others' collectives with it fail and name it, in every form; those without it go on. */
#include "../programs/check.h"

#include <lapis.h>
#include <signal.h>

static void ignore(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    (void)h, (void)code, (void)type, (void)task, (void)source;
}

int main(void)
{
    lapi_info_t info;
    lapis_team_t rest;
    lapis_request_t request;
    int round, code;
    double one = 1, sum;
    char text[256], name[32];

    memset(&info, 0, sizeof info);
    info.err_hndlr = (void *)ignore;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    snprintf(name, sizeof name, "task %d", tasks - 1);
    OK(lapis_barrier(hndl, LAPIS_WORLD));
    OK(lapis_team_split(hndl, LAPIS_WORLD, me == tasks - 1, 0, &rest));
    if (me == tasks - 1)
        kill(getpid(), SIGKILL);
    for (round = 0; round < 3; round++) {
        if (round == 1) {
            OK(lapis_ibarrier(hndl, LAPIS_WORLD, &request));
            code = lapis_wait(hndl, &request);
            CHECK(request == LAPIS_NO_REQUEST);
        } else {
            code = lapis_allreduce(hndl, LAPIS_WORLD, &one, &sum, 1, LAPIS_F64, LAPIS_SUM);
        }
        CHECK(code == LAPIS_ERR_TEAM_OVER);
        OK(lapis_error_text(text, sizeof text));
        CHECK(strstr(text, name) != NULL);
        OK(lapis_allreduce(hndl, rest, &one, &sum, 1, LAPIS_F64, LAPIS_SUM));
        CHECK(sum == tasks - 1);
    }
    printf("went on\n");
    fflush(NULL);
    _exit(0);
}
