/*
 * A process that joins and leaves again and again keeps no descriptors and no mappings of jobs that
 * have ended, but for the last one's.
 * tasks: 2
 */
#define _GNU_SOURCE
#include "acheck.h"
#include <dirent.h>

#define ROUNDS 12
#define FIRST 3

static int descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static int mappings(void)
{
    int count = 0;
    char line[600];
    FILE *all = fopen("/proc/self/maps", "r");
    CHECK(all != NULL);
    while (fgets(line, sizeof line, all))
        count += strstr(line, "memfd:lapis") != NULL;
    fclose(all);
    return count;
}

int main(int argc, char **argv)
{
    int open = 0, mapped = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        join(&argc, &argv);
        static char bytes[100000];
        if (procs > 1) {
            acp_ch_t channel = acp_create_ch(0, 1);
            CHECK(channel != ACP_CH_NULL);
            acp_request_t request = me == 0 ? acp_nbsend_ch(channel, bytes, sizeof bytes)
                                            : acp_nbrecv_ch(channel, bytes, sizeof bytes);
            CHECK(acp_wait_ch(request) != (size_t)-1);
            OK(acp_free_ch(channel));
        }
        acp_ga_t there = acp_malloc(100, (me + 1) % procs);
        CHECK(there != ACP_GA_NULL);
        acp_complete(started(acp_copy(there, starter(me), 100, ACP_HANDLE_NULL)));
        OK(acp_finalize());
        if (round == FIRST) {
            open = descriptors();
            mapped = mappings();
        }
    }
    /* A few are opened only when they are needed: fewer than one for each job. */
    CHECK(descriptors() < open + ROUNDS - FIRST);
    CHECK(mappings() < mapped + ROUNDS - FIRST);
    return 0;
}
