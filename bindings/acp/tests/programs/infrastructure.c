/*
 * Infrastructure: ranks, synchronisation, arguments, acp_reset, and calls outside of init and
 * finalize.
 * tasks: 3
 */
#include "acheck.h"

int main(int argc, char **argv)
{
    FAILS(-1, ENOTCONN, acp_rank());
    FAILS(-1, ENOTCONN, acp_procs());
    FAILS(-1, ENOTCONN, acp_sync());
    FAILS(-1, ENOTCONN, acp_reset(0));
    FAILS(-1, ENOTCONN, acp_colors());
    FAILS(-1, ENOTCONN, acp_finalize());
    FAILS(0, ENOTCONN, acp_query_starter_ga(0));

    /* The program's arguments stay, ACP's go, wherever they stand. */
    char *words[] = {argv[0], "first", "--acp-startermemsize=10000", "--other", "--acp-smemsize-dl=100000",
                     "last", NULL};
    char **list = words;
    int count = 6;
    join(&count, &list);
    GIVES(4, count);
    CHECK(strcmp(list[1], "first") == 0 && strcmp(list[2], "--other") == 0);
    CHECK(strcmp(list[3], "last") == 0 && list[4] == NULL);
    FAILS(-1, EALREADY, acp_init(&argc, &argv));
    CHECK(procs >= 1 && me >= 0 && me < procs);
    GIVES(1, acp_colors());

    /* Nobody leaves a synchronisation before everybody has come. */
    volatile int *table = mine();
    for (int round = 1; round <= 20; round++) {
        if (round % procs == me)
            usleep(1000);
        table[64] = round;
        for (int rank = 0; rank < procs; rank++)
            started(acp_copy(starter(rank) + me * sizeof(int), starter(me) + 64 * sizeof(int),
                             sizeof(int), ACP_HANDLE_NULL));
        acp_complete(ACP_HANDLE_ALL);
        OK(acp_sync());
        for (int rank = 0; rank < procs; rank++)
            GIVES(round, table[rank]);
        OK(acp_sync());
    }

    /* Ranks go round. */
    static int memory[16];
    acp_atkey_t key;
    acp_ga_t old = registered(memory, sizeof memory, &key);
    acp_ga_t given = acp_malloc(100, me);
    CHECK(given != ACP_GA_NULL);
    acp_ch_t channel = me < 2 && procs > 1 ? acp_create_ch(0, 1) : ACP_CH_NULL;
    acp_handle_t handle = started(acp_copy(starter((me + 1) % procs) + 9000, starter(me), 8, ACP_HANDLE_NULL));
    int then = (me + 1) % procs;
    OK(acp_reset(then));
    GIVES(then, acp_rank());
    me = acp_rank();
    GIVES(procs, acp_procs());
    acp_complete(handle);
    GIVES(0, acp_inquire(handle));
    FAILS(-1, EBADF, acp_unregister_memory(key));
    FAILS(0, EBADF, acp_query_ga(key, memory));
    CHECK(acp_query_address(old) == NULL);
    if (channel != ACP_CH_NULL)
        FAILS(-1, EBADF, acp_free_ch(channel));
    const char *bytes = mine();
    for (int i = 0; i < 10000; i++)
        GIVES(0, bytes[i]);
    CHECK(acp_query_rank(starter(me)) == me);
    OK(acp_sync());

    /* Memory belongs to the new ranks. */
    int *words_of_mine = mine();
    words_of_mine[0] = 100 + me;
    OK(acp_sync());
    int left = (me + procs - 1) % procs;
    acp_complete(started(acp_copy(starter(me) + 4, starter(left), 4, ACP_HANDLE_NULL)));
    GIVES(100 + left, words_of_mine[1]);

    /* Ranks that are no order of all processes change nothing. */
    FAILS(-1, EINVAL, acp_reset(procs));
    FAILS(-1, EINVAL, acp_reset(-1));
    if (procs > 1)
        FAILS(-1, EINVAL, acp_reset(0));
    GIVES(me, acp_rank());
    GIVES(100 + me, words_of_mine[0]);

    OK(acp_finalize());
    FAILS(-1, ENOTCONN, acp_rank());
    FAILS(-1, ENOTCONN, acp_finalize());

    /* And once more. */
    OK(acp_init(NULL, NULL));
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
