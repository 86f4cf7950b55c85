/*
 * Workspaces: random parts that each process writes and reads of its own share, and one that all
 * write together. What can't be, or is not wanted by all alike, fails for all and leaves nothing.
 * tasks: 3
 */
#include "acheck.h"

#define PIECE 1000
#define SIZE (7 * PIECE + 300)

static unsigned random_state = 99;

static size_t number(size_t below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

static void fails_for_all(void)
{
    const intptr_t none = (intptr_t)ACP_WSD_NULL;
    FAILS(none, ENOMEM, (intptr_t)acp_create_ws((size_t)-1));
    FAILS(none, ENOMEM, (intptr_t)acp_create_ws((size_t)1 << 50));
    if (procs > 1) {
        FAILS(none, EINVAL, (intptr_t)acp_create_ws(100 + me));
        FAILS(none, EINVAL, (intptr_t)acp_create_ws(me == 1 ? (size_t)1 << 60 : 100));
        FAILS(none, EINVAL, (intptr_t)acp_create_ws(me == 0 ? 0 : 100));
        OK(acp_setparams_ws(0, PIECE - me));
        FAILS(none, EINVAL, (intptr_t)acp_create_ws(100));
    }
    /* The first one has no memory left; the others have theirs again. */
    acp_ga_t held[64];
    int count = 0;
    for (size_t size = (size_t)1 << 30; me == 0 && size >= (size_t)1 << 20; size /= 2)
        while (count < 64 && (held[count] = acp_malloc(size, 0)) != ACP_GA_NULL)
            count++;
    acp_ga_t before = acp_malloc(64, me);
    if (before != ACP_GA_NULL)
        acp_free(before);
    OK(acp_setparams_ws(0, 2 << 20));
    FAILS(none, ENOMEM, (intptr_t)acp_create_ws((size_t)procs * (2 << 20)));
    GIVES(before, acp_malloc(64, me));
    if (before != ACP_GA_NULL)
        acp_free(before);
    while (count > 0)
        acp_free(held[--count]);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    fails_for_all();
    FAILS((intptr_t)ACP_WSD_NULL, EINVAL, (intptr_t)acp_create_ws(0));
    FAILS(1, EINVAL, acp_setparams_ws(procs, PIECE));
    FAILS(1, EINVAL, acp_setparams_ws(0, 0));
    OK(acp_setparams_ws(procs - 1, PIECE));
    acp_wsd_t whole = acp_create_ws(SIZE), other = acp_create_ws(10);
    CHECK(whole != ACP_WSD_NULL && other != ACP_WSD_NULL);
    acp_wsditem seen = *whole;
    GIVES(SIZE, seen.size_ws);
    GIVES(PIECE, seen.size_default);
    GIVES(8, whole->ngas);
    GIVES(300, whole->size_remainder);
    GIVES(300, whole->sizes[7]);
    for (int i = 0; i < 8; i++) {
        GIVES((procs - 1 + i) % procs, whole->procs[i]);
        GIVES(whole->procs[i], acp_query_rank(whole->gas[i]));
    }
    /* The next one goes on where the first one ended. */
    GIVES((procs - 1 + 8) % procs, other->procs[0]);

    acp_ga_t scratch = acp_malloc(2 * SIZE, me);
    unsigned char *local = acp_query_address(scratch), model[SIZE] = {0};
    OK(acp_read_ws(whole, scratch, SIZE, 0));
    CHECK(memcmp(local, model, SIZE) == 0);
    OK(acp_sync());
    /* Each its share, which crosses pieces. */
    size_t share = SIZE / procs, from = me * share;
    for (int round = 0; round < 200; round++) {
        size_t size = number(share), offset = number(share - size + 1);
        fill(local, size, round);
        fill(model + from + offset, size, round);
        OK(acp_write_ws(whole, scratch, size, from + offset));
        size = number(share);
        offset = number(share - size + 1);
        OK(acp_read_ws(whole, scratch + SIZE, size, from + offset));
        CHECK(memcmp(local + SIZE, model + from + offset, size) == 0);
    }
    memset(local, me + 1, share);
    OK(acp_write_ws(whole, scratch, share, from));
    OK(acp_sync());
    OK(acp_read_ws(whole, scratch, SIZE, 0));
    for (size_t at = 0; at < share * procs; at++)
        GIVES(at / share + 1, local[at]);

    OK(acp_read_ws(whole, scratch, 0, SIZE));
    FAILS(1, EINVAL, acp_read_ws(whole, scratch, 2, SIZE - 1));
    FAILS(1, EINVAL, acp_write_ws(whole, scratch, 1, (size_t)-1));
    FAILS(1, EFAULT, acp_write_ws(whole, ACP_GA_NULL, 1, 0));
    FAILS(1, EBADF, acp_read_ws(NULL, scratch, 1, 0));
    FAILS(1, EBADF, acp_read_ws(ACP_WSD_NULL, scratch, 1, 0));
    acp_destroy_ws(whole);
    FAILS(1, EBADF, acp_read_ws(whole, scratch, 1, 0));
    acp_destroy_ws(other);
    OK(acp_finalize());
    return 0;
}
