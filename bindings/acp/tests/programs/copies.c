/*
 * acp_copy between all pairs of processes, by every process, of every size.
 * tasks: 3
 */
#include "acheck.h"

#define LONGEST (300000)

int main(int argc, char **argv)
{
    join(&argc, &argv);
    unsigned char *memory = malloc(LONGEST + 64);
    acp_atkey_t key;
    acp_ga_t ga[2][64];
    exchange(registered(memory, LONGEST + 64, &key), ga[0]);
    exchange(acp_malloc(LONGEST + 64, me), ga[1]);
    unsigned char *heap = acp_query_address(ga[1][me]);
    CHECK(heap != NULL);

    static const size_t sizes[] = {0, 1, 3, 4, 8, 64, 1000, 1500, 8192, 65537, LONGEST};
    /* Who asks, whence, where to; from and to memory of both kinds. */
    for (int asks = 0; asks < procs; asks++)
        for (int from = 0; from < procs; from++)
            for (int to = 0; to < procs; to++)
                for (int kinds = 0; kinds < 4; kinds++) {
                    size_t size = sizes[(asks + 2 * from + 3 * to + kinds) % 11];
                    int of = kinds & 1, into = kinds >> 1;
                    unsigned char *source = of ? heap : memory, *target = into ? heap : memory;
                    if (from == to && of == into)
                        continue;
                    if (me == to)
                        memset(target, 0xee, LONGEST + 64);
                    if (me == from)
                        fill(source, size, asks + kinds);
                    OK(acp_sync());
                    if (me == asks)
                        acp_complete(started(acp_copy(ga[into][to] + 3, ga[of][from], size, ACP_HANDLE_NULL)));
                    OK(acp_sync());
                    if (me == to) {
                        CHECK(holds(target + 3, size, asks + kinds));
                        CHECK(target[2] == 0xee && target[3 + size] == 0xee);
                    }
                    OK(acp_sync());
                }

    /* Within one memory, overlapping, by its owner and by others. */
    for (int asks = 0; asks < procs; asks++)
        for (int kind = 0; kind < 2; kind++)
            for (int step = -5; step <= 5; step += 10) {
                unsigned char *at = kind ? heap : memory;
                fill(at + 10, 5000, 77);
                OK(acp_sync());
                int whose = (asks + 1) % procs;
                if (me == asks)
                    acp_complete(started(acp_copy(ga[kind][whose] + 10 + step, ga[kind][whose] + 10, 5000,
                                                  ACP_HANDLE_NULL)));
                OK(acp_sync());
                if (me == whose)
                    CHECK(holds(at + 10 + step, 5000, 77));
                OK(acp_sync());
            }
    OK(acp_unregister_memory(key));
    OK(acp_finalize());
    return 0;
}
