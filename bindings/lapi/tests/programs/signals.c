/*
 * Signals are for the threads of the program: one that blocks a signal and waits for it gets it, whatever threads the library has. A
 * timer interrupts every call, however long it waits.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Init, initializes a context
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define ROUNDS 300
#define LONG 300000

static pthread_t first;
static volatile int ticks, elsewhere;
static int waited;
static lapi_cntr_t tgt, org, cmpl;
static char put[LONG], sent[LONG], data[LONG];

static void tick(int number)
{
    (void)number;
    ticks++;
    if (!pthread_equal(pthread_self(), first))
        elsewhere++;
}

static void *waiter(void *set)
{
    for (int i = 0; i < 50; i++) {
        int number;
        CHECK(sigwait(set, &number) == 0 && number == SIGUSR2);
        __atomic_store_n(&waited, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void done(lapi_handle_t *h, void *argument)
{
    (void)h, (void)argument;
    usleep(200);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *completion = done;
    return sent;
}

int main(void)
{
    first = pthread_self();
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **headers = exchange((void *)header), **counters = exchange(&tgt), **boxes = exchange(put);
    int other = 1 - me;
    /* After this, the thread for completion handlers runs, too. */
    OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, 8, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, waiter, &set) == 0);
    for (int i = 1; i <= 50; i++) {
        CHECK(kill(getpid(), SIGUSR2) == 0);
        while (__atomic_load_n(&waited, __ATOMIC_ACQUIRE) < i)
            usleep(100);
    }
    CHECK(pthread_join(thread, NULL) == 0);

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        ulong len = i % 3 ? LONG : 8;
        memset(data, i + me, sizeof data);
        if (i % 10 == me)
            usleep(3000);
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, len, counters[other], &org, &cmpl));
        OK(LAPI_Put(hndl, other, LONG, boxes[other], data, counters[other], &org, NULL));
        OK(LAPI_Waitcntr(hndl, &org, 2, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 2, NULL));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        if (i % 5 == 0)
            OK(LAPI_Fence(hndl));
        CHECK(put[0] == (char)(i + other) && put[LONG - 1] == (char)(i + other));
        CHECK(sent[0] == (char)(i + other) && sent[len - 1] == (char)(i + other));
        OK(LAPI_Gfence(hndl));
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(ticks > 0 && elsewhere == 0);
    finish();
    return 0;
}
