/* Tasks that make no call until another one tells them by a signal: what they were sent meanwhile waits. */
#ifndef SILENCE_H
#define SILENCE_H

#include "check.h"
#include <fcntl.h>
#include <signal.h>

static lapi_cntr_t silent;

/* The file by which a task says that it makes no calls any more: a message could not say so. */
static inline const char *sign_of(long process)
{
    static char name[64];
    snprintf(name, sizeof name, "/tmp/lapi-silent-%ld", process);
    return name;
}

/* Before LAPI_Init, so that no thread of the library takes the signal. */
static inline void expect_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

/* In polling mode and after an exchange: tells `to` and returns when that task wakes this one. */
static inline void be_silent(int to, void *silent_there)
{
    sigset_t set;
    int signal, sign;
    OK(LAPI_Put(hndl, to, 0, NULL, NULL, silent_there, NULL, NULL));
    OK(LAPI_Fence(hndl));
    sign = open(sign_of(getpid()), O_CREAT | O_WRONLY, 0600);
    CHECK(sign >= 0 && close(sign) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigwait(&set, &signal) == 0);
}

static inline void wait_for_silence(void *process)
{
    const char *sign = sign_of((long)(intptr_t)process);
    OK(LAPI_Waitcntr(hndl, &silent, 1, NULL));
    /* The other one is on its way out of its fence, for which it may need us. */
    while (access(sign, F_OK) != 0)
        OK(LAPI_Probe(hndl));
    CHECK(unlink(sign) == 0);
}

static inline void wake(void *process)
{
    CHECK(kill((pid_t)(intptr_t)process, SIGUSR1) == 0);
}

#endif
