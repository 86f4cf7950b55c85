/*
 * Orders: each chain would leave other bytes if an access began before the one that it waits for
 * had completed.
 * tasks: 4
 */
#include "acheck.h"

#define WORDS 8192 /* room for eight processes */
#define CHAIN 60

/* Memory of three processes, none of which is the caller where there are so many. */
static acp_ga_t ga[2][64];

static acp_ga_t word(int kind, int rank, int index)
{
    return ga[kind][(me + rank) % procs] + 8 * index;
}

/* A value walks from word to word over all processes; the order is as given for each step. */
static void walk(int kind, acp_handle_t order, int with_handles, size_t size)
{
    acp_handle_t last = ACP_HANDLE_NULL;
    int words = size / 8, base = me * 600;
    for (int step = 0; step < CHAIN; step++) {
        acp_handle_t wait = step == 0 ? ACP_HANDLE_ALL : with_handles ? last : order;
        last = started(acp_copy(word(kind, step + 2, base + words), word(kind, step + 1, base + words), size, wait));
    }
    acp_complete(last);
    GIVES(0, acp_inquire(last));
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    uint64_t *memory = calloc(WORDS, 8);
    acp_atkey_t key;
    exchange(registered(memory, WORDS * 8, &key), ga[0]);
    acp_ga_t given = acp_malloc(WORDS * 8, me);
    exchange(given, ga[1]);
    acp_ga_t scratch = starter(me) + 2048;
    uint64_t *local = (uint64_t *)((char *)mine() + 2048);

    for (int kind = 0; kind < 2; kind++) {
        uint64_t *own = kind ? acp_query_address(given) : (void *)memory;
        static const size_t sizes[] = {8, 64, 2400};
        for (int s = 0; s < 3; s++)
            for (int how = 0; how < 3; how++) {
                memset(own, 0, WORDS * 8);
                OK(acp_sync());
                int words = sizes[s] / 8, base = me * 600;
                for (int i = 0; i < words; i++)
                    local[i % 8] = 1000 * me + how;
                for (int i = 0; i < words; i++)
                    started(acp_copy(word(kind, 1, base + words + i), scratch + 8 * (i % 8), 8, ACP_HANDLE_NULL));
                walk(kind, how == 0 ? ACP_HANDLE_ALL : ACP_HANDLE_CONT, how == 2, sizes[s]);
                /* The value has come to the last word of the walk. */
                memset(local, 0xff, 64);
                acp_complete(started(acp_copy(scratch, word(kind, CHAIN + 1, base + words + words - 1), 8,
                                              ACP_HANDLE_NULL)));
                GIVES(1000 * me + how, local[0]);
                OK(acp_sync());
            }

        /* Many versions of one word, each after the one before: the last one stays. */
        memset(own, 0, WORDS * 8);
        OK(acp_sync());
        for (int how = 0; how < 3; how++) {
            acp_handle_t last = ACP_HANDLE_ALL;
            acp_ga_t to = word(kind, 1, 10 + me);
            for (int version = 1; version <= 200; version++) {
                local[version % 200] = version;
                if (version % 200 == 0)
                    local[0] = version;
                started(acp_add8(starter(me) + 1024, starter(me) + 1032, 1, ACP_HANDLE_NULL));
                last = started(acp_copy(to, scratch + 8 * (version % 200), 8,
                                        how == 0 ? ACP_HANDLE_ALL : how == 1 ? ACP_HANDLE_CONT : last));
            }
            acp_complete(last);
            acp_complete(started(acp_copy(scratch, to, 8, ACP_HANDLE_NULL)));
            GIVES(200, local[0]);
        }
        OK(acp_sync());

        /* Atomic operations wait, too, and are waited for. */
        acp_ga_t counter = word(kind, 1, 3000), copy = word(kind, 2, 3001 + me);
        own[3000] = 0;
        OK(acp_sync());
        for (int i = 0; i < 50; i++) {
            acp_handle_t added = started(acp_add8(scratch + 8, counter, 1, ACP_HANDLE_ALL));
            acp_handle_t copied = started(acp_copy(copy, counter, 8, added));
            started(acp_copy(scratch, copy, 8, copied));
        }
        acp_complete(ACP_HANDLE_ALL);
        GIVES(49, local[1]);
        GIVES(50, local[0]);
        OK(acp_sync());

        /* Completion in order: whoever asks for the last one has all of them. */
        for (int round = 0; round < 20; round++) {
            acp_handle_t last = ACP_HANDLE_NULL;
            for (int i = 0; i < 30; i++) {
                local[40 + i] = round * 100 + i;
                last = started(acp_copy(word(kind, i + 1, 3100 + me * 40 + i), scratch + 8 * (40 + i),
                                        8, ACP_HANDLE_NULL));
            }
            acp_complete(last);
            memset(local + 40, 0, 30 * 8);
            for (int i = 0; i < 30; i++)
                last = started(acp_copy(scratch + 8 * (40 + i), word(kind, i + 1, 3100 + me * 40 + i), 8,
                                        ACP_HANDLE_NULL));
            while (acp_inquire(last))
                ;
            for (int i = 0; i < 30; i++)
                GIVES(round * 100 + i, local[40 + i]);
        }
        OK(acp_sync());
    }

    /* Handles that say nothing. */
    acp_complete(ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_CONT);
    acp_complete(1ULL << 60);
    GIVES(0, acp_inquire(ACP_HANDLE_NULL));
    GIVES(0, acp_inquire(1ULL << 60));
    acp_complete(started(acp_copy(scratch, starter(me), 8, 1ULL << 60)));
    GIVES(0, acp_inquire(ACP_HANDLE_ALL));
    OK(acp_finalize());
    return 0;
}
