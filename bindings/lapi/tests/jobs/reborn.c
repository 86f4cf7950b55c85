/*
 * Under a launcher that starts failed tasks anew (tasks: 3): the last task kills itself; the others are woken by a purge, resume
 * it as soon as its new process can be reached, and exchange messages with it.
 */
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= LAPI Guide, LAPI_Resume_totask, takes up communication again
//= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_TGT_PURGED
//= LAPI Guide, LAPI_Setcntr_wstatus, LAPI_MSG_PURGED and LAPI_MSG_PURGED_RCVD
//= type=test
#include "../programs/check.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { DYING = 1, BACK, ECHO, N = 100 };

static lapi_cntr_t answers;
static volatile int dying, back, echoes;

static void *on_dying(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    dying = 1;
    *done = NULL;
    return NULL;
}

static void *on_back(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    back = 1;
    *done = NULL;
    return NULL;
}

static void *on_echo(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    __atomic_add_fetch(&echoes, 1, __ATOMIC_RELAXED);
    *done = NULL;
    return NULL;
}

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *about, int *source)
{
    (void)h, (void)about;
    CHECK(*code == LAPI_ERR_NO_CONNECTIVITY && *type == LAPI_COMMUNICATION_ERROR && *source == tasks - 1);
}

/* The new process has not made the calls that the others have made. */
static void collectives_are_over(void)
{
    void *table[16];
    CHECK(tasks <= 16);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Gfence(hndl));
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Address_init(hndl, table, table));
}

static void *waiter(void *left)
{
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(hndl, &answers, 1, left));
    return NULL;
}

static void survive(void)
{
    uint victim = tasks - 1, list[2] = {victim, me};
    int status[2], left;
    pthread_t thread;
    OK(LAPI_Gfence(hndl));
    while (!dying)
        OK(LAPI_Probe(hndl));
    OK(LAPI_Setcntr_wstatus(hndl, &answers, 2, list, status));
    CHECK(pthread_create(&thread, NULL, waiter, &left) == 0);
    usleep(300000);
    CHECK(status[0] == LAPI_MSG_INITIAL);
    OK(LAPI_Purge_totask(hndl, victim));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(status[0] == LAPI_MSG_PURGED && status[1] == LAPI_MSG_INITIAL);
    GIVES(LAPI_ERR_TGT_PURGED, LAPI_Amsend(hndl, victim, (void *)ECHO, NULL, 0, NULL, 0, NULL, NULL, NULL));

    /* Over UDP it is resumed at once; where shared memory knew the dead process, when there is another. */
    int code;
    while ((code = LAPI_Resume_totask(hndl, victim)) == LAPI_ERR_NO_CONNECTIVITY)
        usleep(10000);
    CHECK(code == LAPI_SUCCESS);
    /* Nothing comes from this task itself: the list lasts until the end. */
    OK(LAPI_Setcntr_wstatus(hndl, &answers, 2, list, status));
    for (int i = 0; i < N; i++)
        OK(LAPI_Amsend(hndl, victim, (void *)ECHO, NULL, 0, NULL, 0, NULL, NULL, &answers));
    OK(LAPI_Nopoll_wait(hndl, &answers, N, &left));
    CHECK(left == 0 && status[0] == LAPI_MSG_RECVD);
    while (!back || echoes < N)
        OK(LAPI_Probe(hndl));
    collectives_are_over();
    OK(LAPI_Purge_totask(hndl, victim));
    CHECK(status[0] == LAPI_MSG_PURGED_RCVD);
    printf("went on %d\n", me);
}

static void die(void)
{
    OK(LAPI_Gfence(hndl));
    for (int to = 0; to < me; to++)
        OK(LAPI_Amsend(hndl, to, (void *)DYING, NULL, 0, NULL, 0, NULL, NULL, &answers));
    OK(LAPI_Waitcntr(hndl, &answers, me, NULL));
    kill(getpid(), SIGKILL);
}

static void live_again(void)
{
    for (int to = 0; to < me; to++) {
        OK(LAPI_Amsend(hndl, to, (void *)BACK, NULL, 0, NULL, 0, NULL, NULL, NULL));
        for (int i = 0; i < N; i++)
            OK(LAPI_Amsend(hndl, to, (void *)ECHO, NULL, 0, NULL, 0, NULL, NULL, &answers));
    }
    OK(LAPI_Waitcntr(hndl, &answers, me * N, NULL));
    while (echoes < me * N)
        OK(LAPI_Probe(hndl));
    CHECK(echoes == me * N);
    collectives_are_over();
    printf("lived again %d\n", me);
}

int main(void)
{
    lapi_info_t info;
    const char *restarts = getenv("LAPIS_JOB_RESTARTS");
    memset(&info, 0, sizeof info);
    info.lib_vers = LAST_LIB;
    info.err_hndlr = on_error;
    if (restarts)
        usleep(1000000); /* The others purge it before it is there. */
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Addr_set(hndl, (void *)on_dying, DYING));
    OK(LAPI_Addr_set(hndl, (void *)on_back, BACK));
    OK(LAPI_Addr_set(hndl, (void *)on_echo, ECHO));
    OK(LAPI_Setcntr(hndl, &answers, 0));
    if (me < tasks - 1)
        survive();
    else if (restarts)
        live_again();
    else
        die();
    OK(LAPI_Term(hndl));
    return 0;
}
