/*
 * What lapi_info_t says about threads: how many run completion handlers, how large their stacks are, what they do first. The same
 * holds of the one thread that calls the error handler.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Init, num_compl_hndlr_thr
//= LAPI Guide, LAPI_Init, lapi_thread_attr
//= LAPI Guide, Registering an error handler, a handler that returns lets execution continue
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>

#define THREADS 5
#define STACK (3u << 20)
#define ERRORS 50

static volatile int inside, most, handled, hearing, heard;
static __thread int prepared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lapi_cntr_t cmpl;
static int cookie;

static void *prepare(void *argument)
{
    CHECK(argument == &cookie);
    prepared++;
    return NULL;
}

/* The calling thread is as the program wants those of LAPI. */
static void as_wanted(void)
{
    pthread_attr_t attr;
    size_t size;
    CHECK(prepared == 1);
    CHECK(pthread_getattr_np(pthread_self(), &attr) == 0 && pthread_attr_getstacksize(&attr, &size) == 0);
    CHECK(size >= STACK && size < 2 * STACK);
    pthread_attr_destroy(&attr);
}

/* Errors come faster than they are heard, and one at a time all the same. */
static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    as_wanted();
    CHECK(*h == hndl && *code == LAPI_ERR_HDR_HNDLR_NULL && *type == LAPI_USER_ERROR);
    CHECK(*task == me && *source == (me + 1) % tasks);
    CHECK(__atomic_fetch_add(&hearing, 1, __ATOMIC_SEQ_CST) == 0);
    usleep(1000);
    CHECK(__atomic_fetch_sub(&hearing, 1, __ATOMIC_SEQ_CST) == 1);
    __atomic_fetch_add(&heard, 1, __ATOMIC_SEQ_CST);
}

/* Waits for as many of its kind as there are threads. */
static void together(lapi_handle_t *h, void *argument)
{
    (void)h, (void)argument;
    as_wanted();
    pthread_mutex_lock(&mutex);
    inside++;
    most = inside > most ? inside : most;
    pthread_mutex_unlock(&mutex);
    while (most < THREADS)
        usleep(100);
    usleep(2000);
    pthread_mutex_lock(&mutex);
    CHECK(inside <= THREADS);
    inside--;
    handled++;
    pthread_mutex_unlock(&mutex);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = together;
    return NULL;
}

int main(void)
{
    lapi_info_t info;
    com_thread_info_t threads;
    pthread_attr_t attr;
    memset(&info, 0, sizeof info);
    memset(&threads, 0, sizeof threads);
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
    threads.attr = &attr;
    threads.init_func = (void *)prepare;
    threads.init_arg = &cookie;
    info.lapi_thread_attr = &threads;
    info.num_compl_hndlr_thr = THREADS;
    info.err_hndlr = on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **headers = exchange((void *)header);
    OK(LAPI_Gfence(hndl));
    int to = (me + 1) % tasks;
    for (int i = 0; i < 4 * THREADS; i++)
        OK(LAPI_Amsend(hndl, to, headers[to], NULL, 0, NULL, 0, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 4 * THREADS, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(handled == 4 * THREADS && most == THREADS && prepared == 0);

    /* Messages to no handler. */
    for (int i = 0; i < ERRORS; i++)
        OK(LAPI_Amsend(hndl, to, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL));
    while (heard < ERRORS)
        OK(LAPI_Probe(hndl));
    OK(LAPI_Gfence(hndl));
    CHECK(heard == ERRORS);
    finish();
    return 0;
}
