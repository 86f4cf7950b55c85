/* Tasks that make no call until another one tells them by a signal: what they were sent meanwhile waits. */
#ifndef SILENCE_H
#define SILENCE_H

#include "check.h"
#include <signal.h>

static lapi_cntr_t silent;

/* Before LAPI_Init, so that no thread of the library takes the signal. */
static inline void expect_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

/* In polling mode and after an exchange: says so to `to` and returns when that task wakes this one. */
static inline void be_silent(int to, void *silent_there)
{
    sigset_t set;
    int signal;
    OK(LAPI_Put(hndl, to, 0, NULL, NULL, silent_there, NULL, NULL));
    OK(LAPI_Fence(hndl));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigwait(&set, &signal) == 0);
}

static inline void wait_for_silence(void)
{
    OK(LAPI_Waitcntr(hndl, &silent, 1, NULL));
    /* The other one may still be on its way out of its fence. */
    usleep(50000);
}

static inline void wake(void *process)
{
    CHECK(kill((pid_t)(intptr_t)process, SIGUSR1) == 0);
}

#endif
