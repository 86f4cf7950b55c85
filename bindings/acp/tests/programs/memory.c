/*
 * Global memory management: registration, queries, and addresses that mean nothing.
 * tasks: 2
 */
#include "acheck.h"

int main(int argc, char **argv)
{
    join(&argc, &argv);
    int other = (me + 1) % procs;

    FAILS(0, EFAULT, acp_register_memory(NULL, 8, 0));
    static char memory[100000];
    FAILS(0, EINVAL, acp_register_memory(memory, 0, 0));
    FAILS(0, EINVAL, acp_register_memory(memory, 8, 1));
    FAILS(0, EINVAL, acp_register_memory(memory, 8, -1));
    FAILS(0, EINVAL, acp_register_memory(memory, (size_t)-1, 0));
    FAILS(0, ENOMEM, acp_register_memory(memory, (size_t)1 << 63, 0));

    acp_atkey_t key, again;
    acp_ga_t ga = registered(memory + 1, 50000, &key);
    acp_ga_t twice = registered(memory + 1, 10, &again);
    CHECK(ga != twice && key != again);
    GIVES(me, acp_query_rank(ga));
    GIVES(0, acp_query_color(ga));
    CHECK(acp_query_ga(key, memory + 101) == ga + 100);
    CHECK(acp_query_address(ga + 100) == memory + 101);
    FAILS(0, EFAULT, acp_query_ga(key, memory));
    FAILS(0, EFAULT, acp_query_ga(key, memory + 50001));
    FAILS(0, EFAULT, acp_query_ga(again, memory + 11));
    FAILS(0, EBADF, acp_query_ga(ACP_ATKEY_NULL, memory));
    FAILS(0, EBADF, acp_query_ga(key + 1, memory));

    FAILS(-1, EFAULT, acp_query_rank(ACP_GA_NULL));
    FAILS(-1, EFAULT, acp_query_color(ACP_GA_NULL));
    FAILS(-1, EFAULT, acp_query_rank(~0ULL));
    FAILS(0, EFAULT, acp_query_address(ACP_GA_NULL));
    FAILS(0, EFAULT, acp_query_address(ga + 50000));
    FAILS(0, EINVAL, acp_query_starter_ga(-1));
    FAILS(0, EINVAL, acp_query_starter_ga(procs));
    if (procs > 1)
        FAILS(0, EREMOTE, acp_query_address(starter(other)));
    CHECK(starter(me) % 8 == 0);

    /* What is wrong at home is told at once. */
    FAILS(0, EFAULT, acp_copy(ga + 49993, starter(me), 8, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_copy(starter(me), ga + 50000, 1, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_copy(ACP_GA_NULL, ga, 1, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_copy(ga, ~0ULL, 1, ACP_HANDLE_NULL));
    FAILS(0, EFAULT, acp_copy(ga, starter(me), (size_t)-1, ACP_HANDLE_NULL));
    acp_complete(started(acp_copy(ga, starter(other), 0, ACP_HANDLE_NULL)));

    /* What is wrong elsewhere is told when the access completes; nothing is written. */
    acp_ga_t theirs[64];
    exchange(ga, theirs);
    fill((unsigned char *)memory, sizeof memory, me);
    OK(acp_sync());
    if (procs > 1) {
        acp_ga_t bad[] = {theirs[other] + 49993, theirs[other] + 50000, theirs[other] - 1,
                          theirs[other] + (1 << 24), starter(other) + ((acp_ga_t)1 << 40)};
        for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
            *acp_errno_location() = 0;
            acp_complete(started(acp_copy(bad[i], starter(me), 8, ACP_HANDLE_NULL)));
            GIVES(EFAULT, ACP_ERRNO);
            *acp_errno_location() = 0;
            acp_complete(started(acp_copy(starter(me), bad[i], 8, ACP_HANDLE_NULL)));
            GIVES(EFAULT, ACP_ERRNO);
        }
        *acp_errno_location() = 0;
        acp_complete(started(acp_add8(starter(me), (bad[3] + 7) & ~7ULL, 1, ACP_HANDLE_NULL)));
        GIVES(EFAULT, ACP_ERRNO);
    }
    OK(acp_sync());
    CHECK(holds((unsigned char *)memory, sizeof memory, me));

    /* An address that was unregistered is found out, though the memory is registered again. */
    OK(acp_unregister_memory(key));
    FAILS(-1, EBADF, acp_unregister_memory(key));
    FAILS(-1, EBADF, acp_unregister_memory(ACP_ATKEY_NULL));
    FAILS(-1, EBADF, acp_unregister_memory(starter(other)));
    FAILS(0, EFAULT, acp_query_address(ga));
    acp_ga_t fresh = registered(memory + 1, 50000, &key);
    CHECK(fresh != ga);
    OK(acp_sync());
    if (procs > 1) {
        size_t sizes[] = {1, 8, 5000, 50000};
        for (unsigned i = 0; i < 4; i++) {
            *acp_errno_location() = 0;
            acp_complete(started(acp_copy(theirs[other], starter(me), i < 2 ? sizes[i] : 4096, ACP_HANDLE_NULL)));
            GIVES(EFAULT, ACP_ERRNO);
            *acp_errno_location() = 0;
            acp_complete(started(acp_copy(fresh, theirs[other], sizes[i], ACP_HANDLE_NULL)));
            GIVES(EFAULT, ACP_ERRNO);
        }
    }
    OK(acp_sync());
    CHECK(holds((unsigned char *)memory, sizeof memory, me));

    /* Many of them, that come and go. */
    acp_atkey_t keys[1000];
    for (int i = 0; i < 1000; i++)
        keys[i] = acp_register_memory(memory + i, 10 + i, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(acp_query_address(acp_query_ga(keys[i], memory + i + 9)) == memory + i + 9);
    for (int i = 0; i < 1000; i++)
        OK(acp_unregister_memory(keys[i]));
    OK(acp_unregister_memory(key));
    OK(acp_unregister_memory(again));
    OK(acp_finalize());
    return 0;
}
