/*
 * Condition variables of the shared lock: a signal is for one of those who wait at that moment.
 * tasks: 1
 */
//= LAPI Guide, LAPI_Util, LAPI_GET_THREAD_FUNC, table 22
//= type=test
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

static lapi_thread_func_t lock;
static lapi_cond_t cond;
static int turn, waiting, returned;

/* Waits in the list behind whoever is there. */
static void await(int others)
{
    for (int all = 0; !all;) {
        GIVES(0, lock.mutex_lock(hndl));
        all = waiting == others;
        GIVES(0, lock.mutex_unlock(hndl));
    }
}

static void *answerer(void *unused)
{
    GIVES(0, lock.mutex_lock(hndl));
    for (int i = 0; i < 100; i++) {
        waiting++;
        while (turn != 1)
            GIVES(0, lock.cond_wait(hndl, &cond));
        waiting--;
        turn = 0;
        GIVES(0, lock.cond_signal(hndl, &cond));
    }
    GIVES(0, lock.mutex_unlock(hndl));
    return unused;
}

/* Whoever signals and then waits must not take its own signal: the other one would sleep for ever. */
static void turns(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answerer, NULL) == 0);
    await(1);
    GIVES(0, lock.mutex_lock(hndl));
    for (int i = 0; i < 100; i++) {
        turn = 1;
        GIVES(0, lock.cond_signal(hndl, &cond));
        while (turn != 0)
            GIVES(0, lock.cond_wait(hndl, &cond));
    }
    GIVES(0, lock.mutex_unlock(hndl));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waiting == 0);
}

/* The argument says whether to give up soon. */
static void *waiter(void *limited)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    GIVES(0, lock.mutex_lock(hndl));
    waiting++;
    if (limited)
        GIVES(ETIMEDOUT, lock.cond_timedwait(hndl, &cond, &soon));
    else
        GIVES(0, lock.cond_wait(hndl, &cond));
    returned++;
    GIVES(0, lock.mutex_unlock(hndl));
    return NULL;
}

/* One who gave up is passed over; after as many signals as there are waiters, nobody needs the variable any more. */
static void some_give_up(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, waiter, i == 1 ? &cond : NULL) == 0);
        await(i + 1);
    }
    CHECK(pthread_join(threads[1], NULL) == 0);
    GIVES(0, lock.mutex_lock(hndl));
    GIVES(0, lock.cond_signal(hndl, &cond));
    GIVES(EBUSY, lock.cond_destroy(hndl, &cond));
    GIVES(0, lock.cond_signal(hndl, &cond));
    CHECK(returned == 1);
    GIVES(0, lock.cond_destroy(hndl, &cond));
    memset(&cond, 0xee, sizeof cond);
    GIVES(0, lock.mutex_unlock(hndl));
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[2], NULL) == 0);
}

int main(void)
{
    start();
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    GIVES(0, lock.cond_init(hndl, &cond));
    /* Whoever waits must hold the lock. */
    GIVES(EINVAL, lock.cond_wait(hndl, &cond));
    turns();
    some_give_up();
    finish();
    return 0;
}
