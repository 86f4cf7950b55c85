/*
 * acp_malloc and acp_free: from all processes at once, until nothing is left, and all back.
 * tasks: 3
 */
#include "acheck.h"

#define COUNT 400

static unsigned random_state;

static unsigned number(unsigned below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

/* No block is freed twice, wherever it is: what is given out afterwards are blocks of their own.
 * Nobody else may take it in between. */
static void free_twice(void)
{
    for (int rank = 0; rank < procs; rank++) {
        acp_ga_t block = acp_malloc(640, rank), others[2];
        CHECK(block != ACP_GA_NULL);
        acp_free(block);
        ACP_ERRNO = 0;
        acp_free(block);
        GIVES(EFAULT, ACP_ERRNO);
        for (int i = 0; i < 2; i++) {
            others[i] = acp_malloc(640, rank);
            CHECK(others[i] != ACP_GA_NULL);
        }
        CHECK(others[0] != others[1]);
        acp_free(others[0]);
        acp_free(others[1]);
    }
}

int main(int argc, char **argv)
{
    char *words[] = {argv[0], "--acp-startermemsize-dl=4194304", "--acp-startermemsize=20000", NULL};
    char **list = words;
    argc = 3;
    join(&argc, &list);
    random_state = me;
    static acp_ga_t blocks[COUNT];
    static size_t sizes[COUNT];
    acp_ga_t scratch = starter(me) + 1024;
    unsigned char *local = (unsigned char *)mine() + 1024;

    for (int round = 0; round < 1500; round++) {
        int i = number(COUNT);
        if (blocks[i] != ACP_GA_NULL) {
            /* Nobody else has written there. */
            acp_complete(started(acp_copy(scratch, blocks[i], sizes[i], ACP_HANDLE_NULL)));
            CHECK(holds(local, sizes[i], i));
            acp_free(blocks[i]);
            blocks[i] = ACP_GA_NULL;
        } else {
            int rank = number(procs);
            sizes[i] = number(3000) + 1;
            blocks[i] = acp_malloc(sizes[i], rank);
            CHECK(blocks[i] != ACP_GA_NULL);
            GIVES(rank, acp_query_rank(blocks[i]));
            CHECK(blocks[i] % 16 == 0);
            fill(local, sizes[i], i);
            acp_complete(started(acp_copy(blocks[i], scratch, sizes[i], ACP_HANDLE_NULL)));
        }
    }
    for (int i = 0; i < COUNT; i++)
        if (blocks[i] != ACP_GA_NULL) {
            acp_complete(started(acp_copy(scratch, blocks[i], sizes[i], ACP_HANDLE_NULL)));
            CHECK(holds(local, sizes[i], i));
            acp_free(blocks[i]);
        }
    OK(acp_sync());
    FAILS(0, ENOMEM, acp_malloc(5 << 20, me));
    FAILS(0, ENOMEM, acp_malloc((size_t)-1, (me + 1) % procs));
    FAILS(0, EINVAL, acp_malloc(8, procs));
    FAILS(0, EINVAL, acp_malloc(8, -1));
    acp_free(ACP_GA_NULL);
    *acp_errno_location() = 0;
    acp_free(starter(me));
    GIVES(EFAULT, ACP_ERRNO);

    /* Everything came back: the whole of it can be had in one piece. */
    OK(acp_sync());
    acp_ga_t all = acp_malloc(4194304, me);
    CHECK(all != ACP_GA_NULL);
    FAILS(0, ENOMEM, acp_malloc(16, me));
    acp_free(all);
    OK(acp_sync());

    /* Not where a block begins. */
    for (int rank = 0; rank < procs; rank++) {
        acp_ga_t block = acp_malloc(64, rank);
        CHECK(block != ACP_GA_NULL);
        ACP_ERRNO = 0;
        acp_free(block + 16);
        GIVES(EFAULT, ACP_ERRNO);
        acp_free(block);
    }

    IN_TURN(free_twice());
    OK(acp_finalize());
    return 0;
}
