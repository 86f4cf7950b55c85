/*
 * Calls that poll let others work: completion handlers have the shared lock though the program holds it, and a task that finds no room
 * gives its core away.
 * tasks: 2
 */
//= LAPI Guide, Lock sharing, Long critical sections
//= LAPI Guide, Lock sharing, Lock preemption
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Far more than a handler thread needs to get a core; without a hand-over no number suffices. */
#define POLLS 20000000L
#define TURNS 200
#define FLOOD 30000

static lapi_thread_func_t lock;
static lapi_cntr_t got, unused;
static volatile int want, had;
static volatile long yields;
static char text[1024], box[1024];
static void **asking, **answers, **counters;

/* In place of the C library's: counts the library's calls, too. */
int sched_yield(void)
{
    __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
    return syscall(SYS_sched_yield);
}

/* How often this thread has given its core away: by yielding, or by sleeping where a yield would cost a time slice. */
static long given_away(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return yields + usage.ru_nvcsw;
}

static void locked(lapi_handle_t *h, void *from)
{
    int to = (int)(intptr_t)from;
    want++;
    GIVES(0, lock.mutex_lock(*h));
    had++;
    GIVES(0, lock.mutex_unlock(*h));
    OK(LAPI_Amsend(*h, to, answers[to], NULL, 0, text, sizeof text, counters[to], NULL, NULL));
}

static void *ask(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len;
    *info = (void *)(intptr_t)((lapi_return_info_t *)msg_len)->src;
    *done = locked;
    return box;
}

static void *answer(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return box;
}

static void by_probe(void)
{
    OK(LAPI_Probe(hndl));
}

static void by_msgpoll(void)
{
    lapi_msg_info_t info;
    OK(LAPI_Msgpoll(hndl, 10, &info));
}

static void by_getcntr(void)
{
    value_of(&unused);
}

/* The lock is held around it all; each handler gets it from this thread, which does nothing but poll. */
static void under_the_lock(void (*poll)(void), const char *name)
{
    int other = 1 - me;
    long polls = 0;
    had = 0;
    OK(LAPI_Gfence(hndl));
    GIVES(0, lock.mutex_lock(hndl));
    for (int turn = 1; turn <= TURNS; turn++) {
        OK(LAPI_Amsend(hndl, other, asking[other], NULL, 0, text, sizeof text, NULL, NULL, NULL));
        for (long tries = 0; had < turn || value_of(&got) < turn; tries++) {
            poll();
            polls++;
            CHECK(tries < POLLS);
        }
    }
    pthread_t owner;
    GIVES(0, lock.mutex_getowner(hndl, &owner));
    CHECK(pthread_equal(owner, pthread_self()));
    GIVES(0, lock.mutex_unlock(hndl));
    OK(LAPI_Waitcntr(hndl, &got, TURNS, NULL));
    OK(LAPI_Gfence(hndl));
    if (me == 0)
        fprintf(stderr, "%s: %.1f polls for each turn of a handler\n", name, (double)polls / TURNS);
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    OK(LAPI_Setcntr(hndl, &got, 0));
    OK(LAPI_Setcntr(hndl, &unused, 0));
    asking = exchange((void *)ask);
    answers = exchange((void *)answer);
    counters = exchange(&got);
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    under_the_lock(by_probe, "LAPI_Probe");
    under_the_lock(by_msgpoll, "LAPI_Msgpoll");
    under_the_lock(by_getcntr, "LAPI_Getcntr");
    CHECK(want == 3 * TURNS);

    /* A peer that does not listen for a while: what it is sent finds no room, and this task's core is free for others. */
    if (me == 0) {
        long before = given_away();
        for (int i = 0; i < FLOOD; i++)
            OK(LAPI_Amsend(hndl, 1, answers[1], NULL, 0, text, sizeof text, NULL, NULL, NULL));
        fprintf(stderr, "gave the core away %ld times\n", given_away() - before);
        CHECK(given_away() - before > 10);
    } else {
        usleep(200000);
    }
    finish();
    return 0;
}
