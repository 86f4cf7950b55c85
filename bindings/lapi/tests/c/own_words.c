/*
 * A program that uses plain words for constants, enumerators, types and variables of its own. A header that took them, above all by
 * a macro, would keep it from compiling. Compiled with DEFINES it has them as macros, as other programs do.
 */
#include <lapi.h>

#ifdef DEFINES
#define MAX_TASKS 4
#define MAX_NODES 2
#define MAX_SHM_TASKS 3
#define MAX_SLOTS_PER_TASK 5
#else
enum { MAX_TASKS = 4, MAX_NODES };
static const int MAX_SHM_TASKS = 3;
struct limits {
    int MAX_SLOTS_PER_TASK;
};
#endif

/* Enumerators of the interface: none of these is a macro, so that a program may name members and locals so. */
struct words {
    int SWAP, TIMEOUT, TASK_ID, NUM_TASKS, ERROR_CHK, USE_TGT_VEC_TYPE, BUFFER_BOTH_CONTIGUOUS, MAX_PORTS, BULK_XFER, MAGIC;
};

#if LAPI_MAX_TASKS < 1 || LAPI_MAX_NODES < 1 || LAPI_MAX_SHM_TASKS < 1 || LAPI_MAX_SLOTS_PER_TASK < 1
#error the limits of the guide have names that begin with LAPI_
#endif

int use(void)
{
    int sum = MAX_TASKS + MAX_NODES + MAX_SHM_TASKS;
    int flags = USE_TGT_VEC_TYPE | BUFFER_BOTH_CONTIGUOUS | LAPI_USE_BULK_XFER;
    /* Integers that programs for later releases declare. */
    lapi_user_cxt_t context = 0;
    lapi_remote_cxt_t remote = 0;
#ifdef DEFINES
    sum += MAX_SLOTS_PER_TASK;
#else
    struct limits limits;
    limits.MAX_SLOTS_PER_TASK = 5;
    sum += limits.MAX_SLOTS_PER_TASK;
#endif
    {
        int SWAP = 1, TIMEOUT = 2;
        sum += SWAP + TIMEOUT;
    }
    return sum + flags + (int)context + (int)remote;
}
