/*
 * Ranks 1 and 2 lose each other, and rank 0 neither of them: its copies from the one to the other end with an error, all
 * others go on. Each rank is on a host of its own, a network namespace of the test's.
 * tasks: 3
 * env: LAPIS_TIMEOUT=10
 */
#include "acheck.h"

/* From now on nothing is heard from the host of another rank, over any interface. */
static void stop_hearing(int rank)
{
    char line[300];
    snprintf(line, sizeof line,
             "nft add table inet cut && nft 'add chain inet cut in { type filter hook input priority 0 ; }' && "
             "nft 'add rule inet cut in ip saddr { 10.217.0.%d, 10.217.99.%d } meta l4proto udp drop'",
             rank + 1, rank + 1);
    GIVES(0, system(line));
}

static char memory[200000];

int main(int argc, char **argv)
{
    join(&argc, &argv);
    acp_atkey_t key;
    acp_ga_t ga[64];
    exchange(registered(memory, sizeof memory, &key), ga);
    volatile uint64_t *cut = (uint64_t *)memory, *over = cut + 1;
    if (me != 0) {
        stop_hearing(3 - me);
        acp_complete(started(acp_add8(starter(me) + 1024, ga[0], 1, ACP_HANDLE_NULL)));
        while (*over == 0)
            usleep(1000);
        _exit(0);
    }
    while (*cut < 2)
        usleep(1000);
    for (int from = 1; from < 3; from++) {
        int to = 3 - from;
        static const size_t sizes[] = {8, sizeof memory / 2};
        for (int at = 0; at < 2; at++) {
            *acp_errno_location() = 0;
            acp_complete(started(acp_copy(ga[to] + 64, ga[from] + 64, sizes[at], ACP_HANDLE_NULL)));
            GIVES(EHOSTDOWN, ACP_ERRNO);
        }
    }
    *acp_errno_location() = 0;
    for (int rank = 1; rank < 3; rank++) {
        acp_complete(started(acp_copy(ga[rank] + 64, ga[0] + 64, sizeof memory / 2, ACP_HANDLE_NULL)));
        acp_complete(started(acp_copy(ga[0] + 64, ga[rank] + 64, sizeof memory / 2, ACP_HANDLE_NULL)));
    }
    GIVES(0, ACP_ERRNO);
    memory[16] = 1;
    for (int rank = 1; rank < 3; rank++)
        acp_complete(started(acp_copy(ga[rank] + 8, ga[0] + 16, 8, ACP_HANDLE_NULL)));
    GIVES(0, ACP_ERRNO);
    _exit(0);
}
