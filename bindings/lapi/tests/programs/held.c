/*
 * The shared lock is held when a context is to end: the holder can use the context until it gives the lock back, and LAPI_Term
 * waits for that. For a holder that keeps it LAPI_Term gives up, and the context goes on. So it does if the library itself holds
 * the lock, for a send completion handler.
 * tasks: 2
 */
//= LAPI Guide, Lock sharing, not held when LAPI_Term is called
//= type=test
#include "check.h"
#include <errno.h>
#include <pthread.h>

static lapi_thread_func_t lock;
static volatile int held, leave;

static void *holds_it_for_a_while(void *unused)
{
    GIVES(0, lock.mutex_lock(hndl));
    held = 1;
    /* Time for LAPI_Term to begin. */
    usleep(50000);
    int task;
    OK(LAPI_Qenv(hndl, TASK_ID, &task));
    CHECK(task == me);
    GIVES(0, lock.mutex_unlock(hndl));
    return unused;
}

static void *keeps_it(void *unused)
{
    GIVES(0, lock.mutex_lock(hndl));
    held = 1;
    while (!leave)
        usleep(1000);
    GIVES(0, lock.mutex_unlock(hndl));
    return unused;
}

/* Calls with the lock held let others have it while they wait. The context is gone then, but not the right to give the lock back. */
static void *waits_with_it(void *counter)
{
    GIVES(0, lock.mutex_lock(hndl));
    held = 1;
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Waitcntr(hndl, counter, 1, NULL));
    /* The lock may be gone with its context already. */
    int given_back = lock.mutex_unlock(hndl);
    CHECK(given_back == 0 || given_back == EINVAL);
    GIVES(EINVAL, lock.mutex_lock(hndl));
    return NULL;
}

static void begin(void)
{
    start();
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    OK(LAPI_Gfence(hndl));
}

static void ends_in_handler(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    (void)info;
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Term(*h));
    ++*(int *)argument;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    static char box[8];
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return box;
}

/* From a handler that runs within the call, whose thread the library would wait for. */
static void refused_in_handler(int interrupts)
{
    int refused = 0;
    char data[8] = "";
    lapi_xfer_t command;
    begin();
    OK(LAPI_Senv(hndl, INTERRUPT_SET, interrupts));
    OK(LAPI_Addr_set(hndl, (void *)header, 1));
    OK(LAPI_Gfence(hndl));
    for (int to = 0; to < tasks; to++) {
        command.Am = (lapi_am_t){LAPI_AM_XFER, 0, to, 1, 0, NULL, data, sizeof data, ends_in_handler, &refused, 0, NULL, NULL};
        OK(LAPI_Xfer(hndl, &command));
    }
    while (refused < tasks)
        OK(LAPI_Probe(hndl));
    finish();
}

static pthread_t beside(void *(*what)(void *), void *argument)
{
    pthread_t thread;
    held = leave = 0;
    CHECK(pthread_create(&thread, NULL, what, argument) == 0);
    while (!held)
        usleep(100);
    return thread;
}

int main(void)
{
    lapi_cntr_t counter;

    /* Interrupts on and off: with a thread of the library's that needs the lock, and with none. */
    for (int interrupts = 0; interrupts < 2; interrupts++) {
        refused_in_handler(interrupts);
        begin();
        OK(LAPI_Senv(hndl, INTERRUPT_SET, interrupts));
        pthread_t thread = beside(holds_it_for_a_while, NULL);
        OK(LAPI_Term(hndl));
        CHECK(pthread_join(thread, NULL) == 0);
        GIVES(EINVAL, lock.mutex_lock(hndl));

        begin();
        OK(LAPI_Senv(hndl, INTERRUPT_SET, interrupts));
        OK(LAPI_Setcntr(hndl, &counter, 0));
        thread = beside(waits_with_it, &counter);
        usleep(20000);
        OK(LAPI_Term(hndl));
        CHECK(pthread_join(thread, NULL) == 0);
    }

    /* The caller itself, which is told at once. */
    begin();
    GIVES(0, lock.mutex_lock(hndl));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Term(hndl));
    GIVES(0, lock.mutex_unlock(hndl));

    /* Another thread: the context is as it was. */
    pthread_t thread = beside(keeps_it, NULL);
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Term(hndl));
    leave = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    finish();
    return 0;
}
