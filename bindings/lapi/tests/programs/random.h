/*
 * What the programs with random transfers share: numbers that a seed determines, the memory that workers write to, the
 * arguments, and the threads.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include "check.h"

#include <pthread.h>

#define WORKERS 2
#define SLOTS 12
#define SCRIBBLE 0xa5

/* The lengths of slots: what goes as one packet, as several, and without a copy. */
static const ulong slot_size[SLOTS] = {8, 64, 200, 1000, 4096, 4096, 16384, 40000, 65536, 131072, 300000, 1 << 20};
#define AREA (2 << 20) /* of one worker at one task; the slots' sum is less */

static uint64_t seed = 1;
static int phases = 3, operations = 150;
static uint64_t common; /* where the numbers are that all tasks draw alike */

/* Where the numbers begin of one that draws of its own. */
static inline uint64_t numbers_of(uint drawer)
{
    return (seed * 1000003 + drawer) * 0x9e3779b97f4a7c15u + 1;
}

static inline void read_arguments(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        phases = atoi(argv[2]);
    if (argc > 3)
        operations = atoi(argv[3]);
    common = numbers_of(1 << 20);
}

static inline uint any(uint64_t *random, uint below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint)(*random >> 20) % below;
}

static inline int chance(uint64_t *random, uint percent)
{
    return any(random, 100) < percent;
}

static inline void fill(uint64_t *random, unsigned char *data, ulong len)
{
    for (ulong i = 0; i < len; i += 8) {
        uint64_t word = (uint64_t)any(random, 1 << 30) << 32 | any(random, 1 << 30);
        memcpy(data + i, &word, len - i < 8 ? len - i : 8);
    }
}

/* Cuts a length into at most so many pieces, some of them empty. */
static inline uint cut(uint64_t *random, ulong len, uint most, ulong *sizes)
{
    uint pieces = 1 + any(random, most);
    for (uint i = 0; i < pieces; i++) {
        ulong longest = 2 * len / (pieces - i);
        sizes[i] = i + 1 == pieces ? len : chance(random, 10) ? 0 : any(random, (uint)longest + 1);
        len -= sizes[i];
    }
    return pieces;
}

static inline uint any_slot(uint64_t *random)
{
    return any(random, chance(random, 40) ? 5 : SLOTS);
}

static inline ulong offset_of(uint slot)
{
    ulong at = 0;
    for (uint i = 0; i < slot; i++)
        at += slot_size[i] + 64;
    return at;
}

/* A worker's area in the memory of a task. */
static inline ulong area_of(uint task, uint worker)
{
    return ((ulong)task * WORKERS + worker) * AREA;
}

/* A send completion handler and a completion handler of gets: they set the flag that they are given. */
static inline void sent(lapi_handle_t *h, void *info, lapi_sh_info_t *sh)
{
    (void)h, (void)sh;
    __atomic_store_n((volatile int *)info, 1, __ATOMIC_RELEASE);
}

static inline void fetched(lapi_handle_t *h, void *info)
{
    (void)h;
    __atomic_store_n((volatile int *)info, 1, __ATOMIC_RELEASE);
}

/* Between transfers: interrupts on or off, a fence, a pause, a look. */
static inline void do_something_else(uint64_t *random)
{
    lapi_msg_info_t info;
    uint what = any(random, 20);
    if (what < 3)
        OK(LAPI_Senv(hndl, INTERRUPT_SET, chance(random, 50)));
    else if (what < 5)
        OK(LAPI_Fence(hndl));
    else if (what < 6)
        usleep(any(random, 3000));
    else if (what < 12)
        OK(LAPI_Msgpoll(hndl, 1 + any(random, 100), &info));
    else
        OK(LAPI_Probe(hndl));
}

/* A thread for each worker, until all have ended. */
static inline void run_workers(void *(*work)(void *), void *workers, size_t size_of_one)
{
    pthread_t threads[WORKERS];
    for (uint i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (char *)workers + i * size_of_one) == 0);
    for (uint i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Some tasks purge another one, which still waits or has long gone on, and begin anew with it. All call it with nothing under way. */
static inline void purge_some(void)
{
    uint order[tasks];
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < tasks; i++) {
        uint at = any(&common, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i + 1 < tasks; i += 2) {
        int purges = chance(&common, 60), pauses = chance(&common, 50);
        if (!purges || order[i] != (uint)me)
            continue;
        lapi_cntr_t cmpl;
        OK(LAPI_Setcntr(hndl, &cmpl, 0));
        OK(LAPI_Purge_totask(hndl, order[i + 1]));
        if (pauses)
            usleep(2000);
        OK(LAPI_Resume_totask(hndl, order[i + 1]));
        OK(LAPI_Put(hndl, order[i + 1], 0, NULL, NULL, NULL, NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    OK(LAPI_Gfence(hndl));
}

#endif
