/*
 * Memory of lapis_alloc: neighbours put to it, get from it and add to it, over shared memory without this task's help.
 * tasks: 4
 */
#include "check.h"

#include <lapis.h>
#include <pthread.h>

enum { LEN = 1 << 20, ROUNDS = 1000 };

static volatile int handled;

static void come_and_go(void)
{
    void *block;
    OK(lapis_alloc(hndl, 64, &block));
    OK(lapis_free(hndl, block));
}

static void *allocating(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    come_and_go();
    handled++;
    *done = NULL;
    return NULL;
}

static void *beside(void *unused)
{
    while (handled < ROUNDS)
        come_and_go();
    return unused;
}

static void *at[64], *own[64];
static char data[LEN], back[LEN];

int main(void)
{
    void *mine = NULL, *other = data;
    lapi_cntr_t done;
    long long one = 1, before;
    int right, left, left_over, i;

    GIVES(LAPI_ERR_HNDL_INVALID, lapis_alloc(12345, 8, &mine));
    start();
    right = (me + 1) % tasks;
    left = (me + tasks - 1) % tasks;
    GIVES(LAPI_ERR_RET_PTR_NULL, lapis_alloc(hndl, 8, NULL));
    GIVES(LAPI_ERR_MEMORY_EXHAUSTED, lapis_alloc(hndl, 1ul << 46, &other));
    CHECK(other == NULL);
    OK(lapis_alloc(hndl, LEN, &mine));
    CHECK((uintptr_t)mine % 64 == 0);
    for (i = 0; i < LEN; i++)
        CHECK(((char *)mine)[i] == 0);
    OK(LAPI_Address_init(hndl, mine, at));

    memset(data, me + 1, LEN);
    OK(LAPI_Setcntr(hndl, &done, 0));
    OK(LAPI_Put(hndl, right, LEN - 64, (char *)at[right] + 64, data, NULL, NULL, &done));
    OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
    for (i = 0; i < ROUNDS; i++)
        OK(LAPI_Rmw64(hndl, FETCH_AND_ADD, right, at[right], &one, &before, &done));
    OK(LAPI_Waitcntr(hndl, &done, ROUNDS, NULL));
    CHECK(before >= ROUNDS - 1);
    OK(LAPI_Gfence(hndl));
    CHECK(*(volatile long long *)mine == ROUNDS);
    for (i = 64; i < LEN; i++)
        CHECK(((volatile char *)mine)[i] == left + 1);
    OK(LAPI_Get(hndl, right, LEN, at[right], back, NULL, &done));
    OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
    CHECK(*(long long *)back == ROUNDS && back[64] == me + 1 && back[LEN - 1] == me + 1);

    /* A counter may lie in it. */
    OK(LAPI_Setcntr(hndl, (lapi_cntr_t *)((char *)mine + 128), 0));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Put(hndl, right, 8, (char *)at[right] + 64, data, (lapi_cntr_t *)((char *)at[right] + 128), NULL, NULL));
    OK(LAPI_Waitcntr(hndl, (lapi_cntr_t *)((char *)mine + 128), 1, &left_over));
    CHECK(left_over == 0);

    /* Memory of the program's own, registered: the same calls, and the same bytes. */
    GIVES(LAPI_ERR_TGT_ADDR_NULL, lapis_register(hndl, NULL, 8));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, lapis_register(hndl, back, 0));
    OK(lapis_register(hndl, back, LEN));
    OK(lapis_register(hndl, back, 64));
    OK(LAPI_Address_init(hndl, back, own));
    for (i = 0; i < 3; i++) {
        memset(back, 0, LEN);
        OK(LAPI_Gfence(hndl));
        OK(LAPI_Put(hndl, right, LEN, own[right], data, NULL, NULL, &done));
        OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
        OK(LAPI_Gfence(hndl));
        CHECK(((volatile char *)back)[0] == left + 1 && ((volatile char *)back)[LEN - 1] == left + 1);
        OK(lapis_unregister(hndl, i < 2 ? back : NULL));
    }
    GIVES(LAPI_ERR_TGT_ADDR_NULL, lapis_unregister(hndl, back));

    /* Handlers, which run under the context's lock, and a thread allocate at the same time: nobody waits for the other for ever. */
    pthread_t thread;
    OK(LAPI_Addr_set(hndl, (void *)allocating, 1));
    OK(LAPI_Gfence(hndl));
    CHECK(pthread_create(&thread, NULL, beside, NULL) == 0);
    for (i = 0; i < ROUNDS; i++)
        OK(LAPI_Amsend(hndl, right, (void *)1, NULL, 0, NULL, 0, NULL, NULL, NULL));
    while (handled < ROUNDS)
        OK(LAPI_Probe(hndl));
    CHECK(pthread_join(thread, NULL) == 0);

    OK(LAPI_Gfence(hndl));
    OK(lapis_free(hndl, NULL));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, lapis_free(hndl, (char *)mine + 64));
    OK(lapis_free(hndl, mine));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, lapis_free(hndl, mine));
    /* What was written is not seen by whoever gets the room next; and this one goes with the context. */
    OK(lapis_alloc(hndl, LEN, &mine));
    for (i = 0; i < LEN; i++)
        CHECK(((char *)mine)[i] == 0);
    finish();
    GIVES(LAPI_ERR_HNDL_INVALID, lapis_free(hndl, mine));
    return 0;
}
