/*
 * Lock sharing: the nine functions, calls with the lock held, handlers that find it held.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Util, LAPI_GET_THREAD_FUNC, table 22
//= LAPI Guide, LAPI_Util, table 14
//= LAPI Guide, LAPI_Util, mutex_trylock, EBUSY while the lock is held, whoever holds it
//= type=test
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

static lapi_thread_func_t lock;
static lapi_cond_t cond;
static lapi_cntr_t tgt, org, cmpl;
static volatile int waiting, woken, header_had_it, thread_had_it = -1, signalled;
static char box[100];

static int mine(void)
{
    pthread_t owner;
    GIVES(0, lock.mutex_getowner(hndl, &owner));
    return pthread_equal(owner, pthread_self());
}

static void *waiter(void *unused)
{
    GIVES(0, lock.mutex_lock(hndl));
    waiting++;
    GIVES(0, lock.cond_wait(hndl, &cond));
    CHECK(mine());
    woken++;
    GIVES(0, lock.mutex_unlock(hndl));
    return unused;
}

static void *trier(void *unused)
{
    GIVES(EBUSY, lock.mutex_trylock(hndl));
    CHECK(!mine());
    CHECK(lock.mutex_unlock(hndl) != 0);
    return unused;
}

static void inlined(lapi_handle_t *h, void *argument)
{
    (void)h, (void)argument;
    CHECK(mine());
    signalled = 1;
    GIVES(0, lock.cond_signal(hndl, &cond));
}

static void threaded(lapi_handle_t *h, void *argument)
{
    (void)argument;
    thread_had_it = mine();
    GIVES(0, lock.mutex_lock(*h));
    CHECK(mine());
    GIVES(0, lock.mutex_unlock(*h));
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)info;
    header_had_it = mine();
    *done = threaded;
    if (*uhdr_len) {
        ((lapi_return_info_t *)msg_len)->ret_flags = LAPI_LOCAL_STATE;
        *done = inlined;
    }
    return box;
}

static void sent(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    (void)h, (void)info;
    CHECK(mine());
    ++*(int *)argument;
}

static void until(volatile int *what, int value)
{
    while (*what < value)
        usleep(100);
}

int main(void)
{
    start();
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    GIVES(EINVAL, lock.mutex_lock(0));
    GIVES(EINVAL, lock.mutex_unlock(0));
    GIVES(EINVAL, lock.mutex_trylock(0));
    pthread_t owner;
    GIVES(EINVAL, lock.mutex_getowner(0, &owner));
    GIVES(EINVAL, lock.cond_init(0, &cond));
    GIVES(EINVAL, lock.cond_wait(hndl, NULL));
    memset(&cond, 0, sizeof cond);
    GIVES(EINVAL, lock.cond_wait(hndl, &cond));
    GIVES(EINVAL, lock.cond_signal(hndl, &cond));
    GIVES(EINVAL, lock.cond_destroy(hndl, &cond));
    GIVES(0, lock.cond_init(hndl, &cond));

    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt);
    int other = tasks - 1 - me;

    /* Who has it. */
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    GIVES(0, lock.mutex_lock(hndl));
    CHECK(mine());
    /* Held is held, by whomever. */
    GIVES(EBUSY, lock.mutex_trylock(hndl));
    CHECK(mine());
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, trier, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    GIVES(0, lock.mutex_unlock(hndl));
    CHECK(!mine());
    /* The thread that serves interrupts may still be finding out, under the lock, that they are off. */
    int busy;
    for (int tries = 0; (busy = lock.mutex_trylock(hndl)) == EBUSY && tries < 1000; tries++)
        usleep(1000);
    GIVES(0, busy);
    CHECK(mine());
    GIVES(EBUSY, lock.mutex_trylock(hndl));
    /* The refusal took no level of the lock. */
    GIVES(0, lock.mutex_unlock(hndl));
    CHECK(!mine());
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
    OK(LAPI_Gfence(hndl));

    /* Calls with the lock held, waits included: other threads get it meanwhile, and afterwards it is held again. */
    GIVES(0, lock.mutex_lock(hndl));
    int calls = 0;
    lapi_am_t am = {LAPI_AM_XFER, 0, other, (lapi_long_t)(uintptr_t)headers[other], 0, NULL, box, 50, sent, &calls, (lapi_long_t)(uintptr_t)counters[other], &org, &cmpl};
    for (int i = 0; i < 100; i++) {
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&am));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        CHECK(mine());
    }
    OK(LAPI_Waitcntr(hndl, &tgt, 100, NULL));
    CHECK(calls == 100);
    OK(LAPI_Gfence(hndl));
    CHECK(mine());
    GIVES(0, lock.mutex_unlock(hndl));
    CHECK(header_had_it == 1 && thread_had_it == 0);

    /* A signal wakes one of several. */
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, waiter, NULL) == 0);
    for (int done = 0; done < 3; done++) {
        for (int all = 0; !all;) {
            GIVES(0, lock.mutex_lock(hndl));
            all = waiting == 3;
            GIVES(0, lock.mutex_unlock(hndl));
        }
        CHECK(woken == done);
        GIVES(EBUSY, lock.cond_destroy(hndl, &cond));
        GIVES(0, lock.cond_signal(hndl, &cond));
        until(&woken, done + 1);
    }
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    /* Time passes. */
    struct timespec until_then;
    clock_gettime(CLOCK_REALTIME, &until_then);
    until_then.tv_nsec += 20000000;
    if (until_then.tv_nsec >= 1000000000) {
        until_then.tv_nsec -= 1000000000;
        until_then.tv_sec++;
    }
    GIVES(0, lock.mutex_lock(hndl));
    GIVES(ETIMEDOUT, lock.cond_timedwait(hndl, &cond, &until_then));
    CHECK(mine());
    GIVES(ETIMEDOUT, lock.cond_timedwait(hndl, &cond, &until_then));
    until_then.tv_nsec = -1;
    GIVES(EINVAL, lock.cond_timedwait(hndl, &cond, &until_then));
    GIVES(EINVAL, lock.cond_timedwait(hndl, &cond, NULL));
    GIVES(0, lock.mutex_unlock(hndl));
    OK(LAPI_Gfence(hndl));

    /* A handler signals, in polling mode: whoever waits for it makes the progress that runs it. */
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Gfence(hndl));
    GIVES(0, lock.mutex_lock(hndl));
    OK(LAPI_Amsend(hndl, other, headers[other], "12345678", 8, NULL, 0, NULL, NULL, NULL));
    while (!signalled)
        GIVES(0, lock.cond_wait(hndl, &cond));
    GIVES(0, lock.mutex_unlock(hndl));
    GIVES(0, lock.cond_destroy(hndl, &cond));
    finish();
    GIVES(EINVAL, lock.mutex_lock(hndl));
    return 0;
}
