/*
 * Atomic operations: results, and sums that all processes make together, in memory of both kinds.
 * tasks: 4
 */
#include "acheck.h"

#define ROUNDS 2000

int main(int argc, char **argv)
{
    join(&argc, &argv);
    static uint64_t memory[16];
    acp_atkey_t key;
    acp_ga_t ga[2][64];
    exchange(registered(memory, sizeof memory, &key), ga[0]);
    acp_ga_t given = acp_malloc(sizeof memory, me);
    memset(acp_query_address(given), 0, sizeof memory);
    exchange(given, ga[1]);
    volatile uint64_t *result8 = (uint64_t *)((char *)mine() + 1024);
    volatile uint32_t *result4 = (uint32_t *)((char *)mine() + 1032);
    acp_ga_t at8 = starter(me) + 1024, at4 = starter(me) + 1032;
    int next = (me + 1) % procs;

    for (int kind = 0; kind < 2; kind++) {
        uint64_t *own = kind ? acp_query_address(given) : (void *)memory;
        acp_ga_t wide = ga[kind][next], narrow = ga[kind][next] + 8;
        own[0] = own[1] = 0;
        OK(acp_sync());
#define RESULT(expected, width, call)                         \
    do {                                                      \
        acp_complete(started(call));                          \
        GIVES((uint##width##_t)(expected), *result##width##_t); \
    } while (0)
#define result32_t result4
#define result64_t result8
        RESULT(0, 64, acp_add8(at8, wide, 5, ACP_HANDLE_NULL));
        RESULT(5, 64, acp_add8(at8, wide, -7, ACP_HANDLE_NULL));
        RESULT(-2, 64, acp_and8(at8, wide, 0xff00ff00ff00ff0f, ACP_HANDLE_NULL));
        RESULT(0xff00ff00ff00ff0e, 64, acp_or8(at8, wide, 0xf1, ACP_HANDLE_NULL));
        RESULT(0xff00ff00ff00ffff, 64, acp_xor8(at8, wide, ~0ULL, ACP_HANDLE_NULL));
        RESULT(0x00ff00ff00ff0000, 64, acp_swap8(at8, wide, 1ULL << 40, ACP_HANDLE_NULL));
        RESULT(1ULL << 40, 64, acp_cas8(at8, wide, 1, 2, ACP_HANDLE_NULL));
        RESULT(1ULL << 40, 64, acp_cas8(at8, wide, 1ULL << 40, 3, ACP_HANDLE_NULL));
        RESULT(3, 64, acp_add8(at8, wide, 0, ACP_HANDLE_NULL));
        RESULT(0, 32, acp_add4(at4, narrow, 5, ACP_HANDLE_NULL));
        RESULT(5, 32, acp_add4(at4, narrow, -7, ACP_HANDLE_NULL));
        RESULT(-2, 32, acp_and4(at4, narrow, 0xff00ff0f, ACP_HANDLE_NULL));
        RESULT(0xff00ff0e, 32, acp_or4(at4, narrow, 0xf1, ACP_HANDLE_NULL));
        RESULT(0xff00ffff, 32, acp_xor4(at4, narrow, ~0U, ACP_HANDLE_NULL));
        RESULT(0x00ff0000, 32, acp_swap4(at4, narrow, 9, ACP_HANDLE_NULL));
        RESULT(9, 32, acp_cas4(at4, narrow, 1, 2, ACP_HANDLE_NULL));
        RESULT(9, 32, acp_cas4(at4, narrow, 9, 3, ACP_HANDLE_NULL));
        OK(acp_sync());
        GIVES(3, own[0]);
        GIVES(3, own[1]); /* The other half of the word is untouched. */
        OK(acp_sync());

        /* Everybody adds to everybody's: the owner by its own address, others from afar. */
        own[0] = own[1] = 0;
        OK(acp_sync());
        for (int round = 0; round < ROUNDS; round++)
            for (int rank = 0; rank < procs; rank++) {
                started(acp_add8(at8, ga[kind][rank], 1, ACP_HANDLE_NULL));
                started(acp_add4(at4, ga[kind][rank] + 8, 1, ACP_HANDLE_NULL));
            }
        acp_complete(ACP_HANDLE_ALL);
        OK(acp_sync());
        GIVES(ROUNDS * procs, own[0]);
        GIVES(ROUNDS * procs, own[1]);
        OK(acp_sync());

        /* A lock by compare and swap: what it guards is read, computed and written. */
        own[2] = own[3] = 0;
        OK(acp_sync());
        acp_ga_t lock = ga[kind][0] + 16, guarded = ga[kind][0] + 24;
        volatile uint64_t *copy = (uint64_t *)((char *)mine() + 1040);
        for (int round = 0; round < 50; round++) {
            do
                acp_complete(started(acp_cas8(at8, lock, 0, me + 1, ACP_HANDLE_NULL)));
            while (*result8 != 0);
            acp_complete(started(acp_copy(starter(me) + 1040, guarded, 8, ACP_HANDLE_NULL)));
            *copy += 1;
            acp_handle_t written = started(acp_copy(guarded, starter(me) + 1040, 8, ACP_HANDLE_NULL));
            acp_complete(started(acp_swap8(at8, lock, 0, written)));
            GIVES(me + 1, *result8);
        }
        OK(acp_sync());
        if (me == 0)
            GIVES(50 * procs, own[3]);
        OK(acp_sync());
    }

    FAILS(0, EINVAL, acp_add8(at8 + 4, ga[0][me], 1, ACP_HANDLE_NULL));
    FAILS(0, EINVAL, acp_add8(at8, ga[0][next] + 4, 1, ACP_HANDLE_NULL));
    FAILS(0, EINVAL, acp_add4(at4 + 2, ga[0][me], 1, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_swap4(ACP_GA_NULL, ga[0][me], 1, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_swap4(at4, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    if (procs > 1)
        FAILS(0, EREMOTE, acp_swap4(starter(next), at4, 1, ACP_HANDLE_NULL));
    OK(acp_finalize());
    return 0;
}
