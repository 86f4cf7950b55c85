/* An active message to no handler, checks off: the target's error handler hears of it, or the job ends. */
//= LAPI Guide, Registering an error handler, a handler that returns lets execution continue
//= LAPI Guide, Registering an error handler, without a handler the job is terminated
//= LAPI Guide, Lock sharing, the error handler is invoked without the lock
//= type=test
#include "../programs/check.h"
#include <pthread.h>

static volatile int heard;
static lapi_thread_func_t lock;

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    pthread_t owner;
    CHECK(*h == hndl && *task == me);
    CHECK(*code == LAPI_ERR_HDR_HNDLR_NULL && *type == LAPI_USER_ERROR && *source == (me + 1) % tasks);
    CHECK(lock.mutex_getowner(hndl, &owner) == 0 && !pthread_equal(owner, pthread_self()));
    heard++;
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
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    /* What is in the table can't be an address. */
    OK(LAPI_Addr_set(hndl, (void *)300, 78));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Amsend(hndl, (me + 1) % tasks, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL));
    OK(LAPI_Amsend(hndl, (me + 1) % tasks, (void *)77, NULL, 0, NULL, 0, NULL, NULL, NULL));
    OK(LAPI_Amsend(hndl, (me + 1) % tasks, (void *)78, NULL, 0, NULL, 0, NULL, NULL, NULL));
    OK(LAPI_Gfence(hndl));
    while (heard < 3)
        OK(LAPI_Probe(hndl));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Term(hndl));
    puts("went on");
    return 0;
}
