/*
 * Programs watch memory that others put to, and take back what they have seen. So each word is stored once: a second store of the
 * same bytes, which library functions for copies do, would set a flag again that its owner has just taken back. Here the memory may
 * not be written; each store to it is let through alone, and what it has stored is taken back before the next.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Put, copies data to the target
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MOST 300
static lapi_cntr_t arrived, fetched;
static volatile unsigned char *watched;
static volatile int stores[MOST];
static unsigned char source[MOST];

#if defined __x86_64__

#define STEP 0x100

static void faulted(int number, siginfo_t *info, void *context)
{
    (void)number;
    unsigned char *at = info->si_addr;
    if (at < watched || at >= watched + 4096)
        _exit(4);
    mprotect((void *)watched, 4096, PROT_READ | PROT_WRITE);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= STEP;
}

static void stepped(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    for (int i = 0; i < MOST; i++)
        if (watched[i]) {
            stores[i]++;
            watched[i] = 0;
        }
    mprotect((void *)watched, 4096, PROT_READ);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~STEP;
}

static int watch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = faulted;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    action.sa_sigaction = stepped;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    return PROT_READ;
}

#else

/* Nobody steps through the stores: only the bytes are looked at. */
static int watch(void)
{
    return PROT_READ | PROT_WRITE;
}

#endif

static void expect(int offset, int len, const char *way)
{
    for (int i = 0; i < MOST; i++) {
        int times = stores[i] + (watched[i] != 0), wanted = i >= offset && i < offset + len;
        if (times != wanted) {
            fprintf(stderr, "%s of %d bytes to %d: byte %d was stored %d times\n", way, len, offset, i, times);
            CHECK(0);
        }
        stores[i] = 0;
    }
}

static int wanted_offset;
static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return (void *)(watched + wanted_offset);
}

int main(void)
{
    static const int lengths[] = {2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 68, 96, 100, 136, 256};
    start();
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &arrived, 0));
    OK(LAPI_Setcntr(hndl, &fetched, 0));
    memset(source, 0xff, sizeof source);
    int allowed = watch();
    watched = mmap(NULL, 4096, allowed, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(watched != MAP_FAILED);
    void **places = exchange((void *)watched), **counters = exchange(&arrived), **sources = exchange(source), **headers = exchange((void *)header);
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Gfence(hndl));
    int other = 1 - me;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int offset = 0; offset < 16; offset += lengths[i] < 4 ? 2 : 4) {
            int len = lengths[i];
            wanted_offset = offset;
            OK(LAPI_Gfence(hndl));
            OK(LAPI_Put(hndl, other, len, (char *)places[other] + offset, source, counters[other], NULL, NULL));
            OK(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
            expect(offset, len, "put");
            OK(LAPI_Get(hndl, other, len, sources[other], (char *)watched + offset, NULL, &fetched));
            OK(LAPI_Waitcntr(hndl, &fetched, 1, NULL));
            expect(offset, len, "get");
            OK(LAPI_Gfence(hndl));
            OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, source, len, counters[other], NULL, NULL));
            OK(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
            expect(offset, len, "active message");
        }
    finish();
    return 0;
}
