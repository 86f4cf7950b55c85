/*
 * Colours: what addresses say of them, and copies by them.
 *
 * colours COUNT COLOUR [FILE]: there are COUNT colours. Rank 0 copies to memory of rank 1 with this
 * COLOUR and back, once or until there is such a FILE. Where there are three, rank 2 copies from rank
 * 0's memory to that of rank 1. COLOUR none: nobody uses another colour than 0.
 * tasks: 2
 */
#include "acheck.h"

#define SIZE ((size_t)8 << 20)

static unsigned char data[SIZE];
static uint64_t counter[2];

/* Memory of each colour has addresses that tell it. */
static void addresses(int count)
{
    for (int colour = 0; colour < count; colour++) {
        acp_atkey_t key = acp_register_memory(data, SIZE, colour);
        CHECK(key != ACP_ATKEY_NULL);
        acp_ga_t ga = acp_query_ga(key, data);
        GIVES(colour, acp_query_color(ga));
        GIVES(colour, acp_query_color(ga + SIZE - 1));
        GIVES(me, acp_query_rank(ga));
        CHECK(acp_query_address(ga + 5) == data + 5);
        /* Both ends here. */
        data[0] = (unsigned char)(colour + 1);
        acp_complete(acp_copy(ga + SIZE - 1, ga, 1, ACP_HANDLE_NULL));
        CHECK(data[SIZE - 1] == data[0]);
        OK(acp_unregister_memory(key));
    }
    FAILS(0, EINVAL, acp_register_memory(data, SIZE, count));
    FAILS(0, EINVAL, acp_register_memory(data, SIZE, -1));
    FAILS(-1, EFAULT, acp_query_color(ACP_GA_NULL));
    GIVES(0, acp_query_color(starter(me)));
    acp_ga_t heap = acp_malloc(64, procs - 1);
    CHECK(heap != ACP_GA_NULL);
    GIVES(0, acp_query_color(heap));
    acp_free(heap);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 1, colour = argc > 2 ? atoi(argv[2]) : 0;
    int none = argc > 2 && strcmp(argv[2], "none") == 0;
    GIVES(count, acp_colors());
    if (!none)
        addresses(count);

    /* That of the memory elsewhere counts, in both directions: what is here has another one. */
    acp_atkey_t key = acp_register_memory(data, SIZE, me == 0 && !none ? (colour + 1) % count : colour);
    acp_atkey_t variable = acp_register_memory(counter, sizeof counter, colour);
    CHECK(key != ACP_ATKEY_NULL && variable != ACP_ATKEY_NULL);
    acp_ga_t here = acp_query_ga(key, data), result = acp_query_ga(variable, counter + 1);
    acp_ga_t there[64], counters[64];
    fill(data, SIZE, me);
    exchange(here, there);
    if (procs == 3) {
        /* Between two others: that of the destination. */
        if (me == 2)
            acp_complete(started(acp_copy(there[1], there[0], SIZE, ACP_HANDLE_NULL)));
        OK(acp_sync());
        CHECK(holds(data, SIZE, me == 1 ? 0 : me));
        OK(acp_finalize());
        return 0;
    }
    exchange(acp_query_ga(variable, counter), counters);
    for (unsigned round = 0; me == 0; round++) {
        fill(data, SIZE, round);
        acp_complete(started(acp_copy(there[procs - 1], here, SIZE, ACP_HANDLE_NULL)));
        if (procs > 1)
            memset(data, 0, SIZE);
        acp_complete(started(acp_copy(here, there[procs - 1], SIZE, ACP_HANDLE_NULL)));
        CHECK(holds(data, SIZE, round));
        acp_complete(started(acp_add8(result, counters[procs - 1], 3, ACP_HANDLE_NULL)));
        CHECK(counter[1] == 3 * (uint64_t)round);
        if (round == 0) {
            puts("copied");
            fflush(stdout);
        }
        if (argc < 4 || access(argv[3], F_OK) == 0)
            break;
    }
    OK(acp_sync());
    OK(acp_unregister_memory(key));
    OK(acp_finalize());
    return 0;
}
