/*
 * Messages of more than 2 GiB and of more than 4 GiB. Both ends are windows of address space onto a little memory, mapped again
 * and again; the last part of each has memory of its own, so that nothing can end early unnoticed.
 * tasks: 2
 */
//= LAPI Guide, appendix F, the message size of 64-bit applications
//= type=test
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>

#define PART (8ul << 20)

static lapi_cntr_t tgt, org, cmpl;
static char *box, *back, *data;
static ulong expected;

/* `len` bytes, rounded up, of which all but the last part are the same memory. */
static char *window(ulong len)
{
    ulong parts = (len + PART - 1) / PART;
    int file = memfd_create("window", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, 2 * PART) == 0);
    char *at = mmap(NULL, parts * PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(at != MAP_FAILED);
    for (ulong i = 0; i < parts; i++) {
        long offset = i == parts - 1 ? PART : 0;
        void *part = mmap(at + i * PART, PART, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset);
        CHECK(part == at + i * PART);
    }
    close(file);
    return at;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    CHECK(*msg_len == expected);
    CHECK(((lapi_return_info_t *)msg_len)->bytes == expected);
    *done = NULL;
    return box;
}

static void expect(const char *where, ulong len)
{
    CHECK(memcmp(where, "beginning", 9) == 0 && memcmp(where + len - 3, "end", 3) == 0);
    CHECK(memcmp(where + len / PART * PART - 7, "middle", 6) == 0);
}

static void clear(char *where, ulong len)
{
    memset(where, 0, PART);
    memset(where + len / PART * PART, 0, len % PART);
}

int main(void)
{
    static const ulong lengths[2] = {(2ul << 30) + 12345, (4ul << 30) + 54321};
    int shm;
    start();
    CHECK(tasks == 2);
    OK(LAPI_Qenv(hndl, QUERY_SHM_ENABLED, &shm));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    /* Over the network one of them, once, is enough: that takes seconds. */
    for (int round = 0; round < (shm ? 2 : 1); round++) {
        ulong len = lengths[round];
        box = window(len), back = window(len), data = window(len);
        memcpy(data, "beginning", 9);
        memcpy(data + PART - 7, "middle", 6);
        memcpy(data + len - 3, "end", 3);
        expected = len;
        void **boxes = exchange(box), **counters = exchange(&tgt), **headers = exchange((void *)header);
        for (int what = shm && round == 0 ? 0 : 2; what < 3; what++) {
            OK(LAPI_Gfence(hndl));
            if (me == 0) {
                if (what == 0)
                    OK(LAPI_Put(hndl, 1, len, boxes[1], data, counters[1], &org, &cmpl));
                else if (what == 1)
                    OK(LAPI_Get(hndl, 1, len, boxes[1], back, counters[1], &org));
                else
                    OK(LAPI_Amsend(hndl, 1, headers[1], NULL, 0, data, len, counters[1], &org, &cmpl));
                OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
                if (what != 1)
                    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
                else
                    expect(back, len);
            } else {
                OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
                expect(box, len);
                if (what == 1)
                    clear(box, len);
            }
        }
        OK(LAPI_Gfence(hndl));
        for (int i = 0; i < 3; i++)
            CHECK(munmap(i == 0 ? box : i == 1 ? back : data, (len + PART - 1) / PART * PART) == 0);
        free(boxes), free(counters), free(headers);
    }
    finish();
    return 0;
}
