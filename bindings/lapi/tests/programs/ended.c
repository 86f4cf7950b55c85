/*
 * A thread waits while another one ends the context: it hears that there is none any more.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Term, terminates a context
//= type=test
#include "check.h"
#include <errno.h>
#include <pthread.h>

static lapi_thread_func_t lock;
static lapi_cond_t cond;
static lapi_cntr_t counter;
static volatile int begun;

static void *waits_for_counter(void *unused)
{
    begun = 1;
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Waitcntr(hndl, &counter, 1, NULL));
    return unused;
}

static void *waits_without_polling(void *unused)
{
    begun = 1;
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Nopoll_wait(hndl, &counter, 1, NULL));
    return unused;
}

static void *waits_for_signal(void *unused)
{
    GIVES(0, lock.mutex_lock(hndl));
    begun = 1;
    GIVES(EINVAL, lock.cond_wait(hndl, &cond));
    return unused;
}

int main(void)
{
    void *(*waits[])(void *) = {waits_for_counter, waits_without_polling, waits_for_signal};
    for (int round = 0; round < 3; round++) {
        start();
        lock.Util_type = LAPI_GET_THREAD_FUNC;
        OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
        GIVES(0, lock.cond_init(hndl, &cond));
        OK(LAPI_Setcntr(hndl, &counter, 0));
        OK(LAPI_Gfence(hndl));
        if (me == 0) {
            pthread_t thread;
            begun = 0;
            CHECK(pthread_create(&thread, NULL, waits[round], NULL) == 0);
            while (!begun)
                usleep(100);
            /* Time to go to sleep. */
            usleep(20000);
            OK(LAPI_Term(hndl));
            CHECK(pthread_join(thread, NULL) == 0);
        } else {
            OK(LAPI_Term(hndl));
        }
    }
    return 0;
}
