/*
 * Active messages, puts and gets of several lengths by LAPI_Xfer, with the flags that the first argument gives. With "faulty"
 * as the second one, the memory that receives them can't be written by direct copy, only by stores.
 */
//= LAPI Guide, LAPI_Xfer, LAPI_USE_BULK_XFER and LAPI_NOT_USE_BULK_XFER
//= LAPI Guide, Bulk transfer of messages, from MP_BULK_MIN_MSG_SIZE on
//= LAPI Guide, Bulk transfer of messages, packets if a step fails
//= type=test
#define _GNU_SOURCE
#include "../programs/check.h"
#include <signal.h>
#include <sys/mman.h>

#define MOST ((33ul << 20) + 5)

static char *box, *back, *data;
static volatile ulong expected;
static lapi_cntr_t tgt, org, cmpl;
static volatile int faults;

static char *memory(void)
{
    char *at = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* The kernel can't write to memory that is read-only; a store ends up here and is repeated. */
static void writable(int signal, siginfo_t *info, void *context)
{
    char *at = info->si_addr;
    (void)signal, (void)context;
    for (int i = 0; i < 2; i++) {
        char *region = i ? back : box;
        if (at >= region && at < region + MOST) {
            faults++;
            if (mprotect(region, MOST, PROT_READ | PROT_WRITE) == 0)
                return;
        }
    }
    _exit(9);
}

static void protect(char *region)
{
    /* The second half only: the copy has begun when it fails. */
    CHECK(mprotect(region + (MOST / 2 & ~0xffful), MOST - (MOST / 2 & ~0xffful), PROT_READ) == 0);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    CHECK(*msg_len == expected);
    *done = NULL;
    return box;
}

static void expect(const char *where, int from, ulong len)
{
    for (ulong i = 0; i < len; i += i < len - 9000 && i > 9000 ? 4093 : 1)
        CHECK(where[i] == (char)(i * 7 + i / 4096 + from));
}

int main(int argc, char **argv)
{
    static const ulong lengths[] = {4000, 4096, 5000, 150 * 1024, MOST};
    CHECK(argc > 1);
    int flags = atoi(argv[1]), faulty = argc > 2;
    start();
    CHECK(tasks == 2);
    int other = 1 - me;
    box = memory(), back = memory(), data = memory();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = writable;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(box), **counters = exchange(&tgt), **headers = exchange((void *)header);
    for (ulong i = 0; i < MOST; i++)
        data[i] = i * 7 + i / 4096 + me;

    for (size_t round = faulty ? 4 : 0; round < 5; round++) {
        ulong len = lengths[round];
        lapi_long_t counter = (lapi_long_t)(uintptr_t)counters[other], there = (lapi_long_t)(uintptr_t)boxes[other];
        lapi_am_t am = {LAPI_AM_XFER, flags, other, (lapi_long_t)(uintptr_t)headers[other], 0, NULL, data, len, NULL, NULL, counter, &org, &cmpl};
        lapi_put_t put = {LAPI_PUT_XFER, flags, other, there, data, len, NULL, NULL, counter, &org, &cmpl};
        lapi_get_t get = {LAPI_GET_XFER, flags, other, there, back, len, counter, &org, NULL, NULL};
        for (int what = 0; what < 3; what++) {
            expected = len;
            if (what < 2)
                memset(box, 0, len);
            if (faulty)
                protect(what < 2 ? box : back);
            OK(LAPI_Gfence(hndl));
            OK(LAPI_Xfer(hndl, what == 0 ? (lapi_xfer_t *)&am : what == 1 ? (lapi_xfer_t *)&put : (lapi_xfer_t *)&get));
            OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
            OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
            if (what < 2)
                OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
            /* A get brings back what this task put there. */
            expect(what < 2 ? box : back, what < 2 ? other : me, len);
            OK(LAPI_Gfence(hndl));
        }
    }
    CHECK(faults == (faulty ? 3 : 0));
    OK(LAPI_Qenv(hndl, PRINT_STATISTICS, &(int){0}));
    finish();
    return 0;
}
