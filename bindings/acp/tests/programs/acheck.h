/* What the test programs share. */
#ifndef ACHECK_H
#define ACHECK_H

#include <acp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what)                                                                        \
    do {                                                                                   \
        if (!(what)) {                                                                     \
            fprintf(stderr, "%s:%d: rank %d: %s is not so (errno %d)\n", __FILE__, __LINE__, \
                    acp_rank(), #what, ACP_ERRNO);                                         \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

#define GIVES(expected, call)                                                                   \
    do {                                                                                        \
        long long wanted_ = (long long)(expected), given_ = (long long)(call);                  \
        if (wanted_ != given_) {                                                                \
            fprintf(stderr, "%s:%d: rank %d: %s gave %lld, not %lld (errno %d)\n", __FILE__,    \
                    __LINE__, acp_rank(), #call, given_, wanted_, ACP_ERRNO);                   \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

#define OK(call) GIVES(0, call)
/* The call fails, for this reason. */
#define FAILS(failed, number, call)     \
    do {                                \
        GIVES(failed, call);            \
        GIVES(number, ACP_ERRNO);       \
    } while (0)

static int me, procs;

static inline void join(int *argc, char ***argv)
{
    OK(acp_init(argc, argv));
    me = acp_rank();
    procs = acp_procs();
}

/*
 * One process after the other. Memory that was freed may be given to a structure of another process: who looks at what is left
 * of its own must be alone.
 */
#define IN_TURN(what)                               \
    do {                                            \
        for (int turn_ = 0; turn_ < procs; turn_++) { \
            OK(acp_sync());                         \
            if (turn_ == me)                        \
                what;                               \
        }                                           \
        OK(acp_sync());                             \
    } while (0)

/* Where others have died, and acp_finalize can't be called: says that all was as it should be. */
static inline void done(void)
{
    printf("rank %d is done\n", me);
    fflush(stdout);
    _exit(0);
}

static inline acp_ga_t starter(int rank)
{
    acp_ga_t ga = acp_query_starter_ga(rank);
    CHECK(ga != ACP_GA_NULL);
    return ga;
}

static inline void *mine(void)
{
    void *at = acp_query_address(starter(me));
    CHECK(at != NULL);
    return at;
}

/* Registers memory; gives its global address. */
static inline acp_ga_t registered(void *memory, size_t size, acp_atkey_t *key)
{
    *key = acp_register_memory(memory, size, 0);
    CHECK(*key != ACP_ATKEY_NULL);
    acp_ga_t ga = acp_query_ga(*key, memory);
    CHECK(ga != ACP_GA_NULL);
    return ga;
}

static inline acp_handle_t started(acp_handle_t handle)
{
    CHECK(handle != ACP_HANDLE_NULL);
    return handle;
}

/* Tells everybody an address of mine, and learns theirs, by way of the starter memories. */
static inline void exchange(acp_ga_t here, acp_ga_t *theirs)
{
    acp_ga_t *table = mine();
    OK(acp_sync());
    table[me] = here;
    for (int rank = 0; rank < procs; rank++)
        if (rank != me)
            started(acp_copy(starter(rank) + me * sizeof here, starter(me) + me * sizeof here,
                             sizeof here, ACP_HANDLE_NULL));
    acp_complete(ACP_HANDLE_ALL);
    OK(acp_sync());
    memcpy(theirs, table, procs * sizeof *theirs);
    OK(acp_sync());
}

static inline void fill(unsigned char *data, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)(seed * 131 + i * 7 + (i >> 9));
}

static inline int holds(const unsigned char *data, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] != (unsigned char)(seed * 131 + i * 7 + (i >> 9)))
            return 0;
    return 1;
}

#endif
