/*
 * Accesses by the hundred thousand, none of which is waited for: memory stays bounded, and targets
 * that compute take them.
 * tasks: 2
 */
#include "acheck.h"
#include <sys/resource.h>

#define COUNT 200000

static long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        exit(1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    static volatile uint64_t memory[64];
    acp_atkey_t key;
    acp_ga_t ga[64];
    exchange(registered((void *)memory, sizeof memory, &key), ga);
    int other = (me + 1) % procs;
    acp_ga_t result = starter(me) + 1024;
    long before = resident();
    acp_handle_t handle = ACP_HANDLE_NULL;
    for (int i = 0; i < COUNT; i++)
        handle = started(acp_add8(result, ga[other], 1, i % 100 == 0 ? ACP_HANDLE_ALL : ACP_HANDLE_NULL));
    CHECK(resident() - before < 64 << 20);
    acp_complete(handle);
    OK(acp_sync());
    GIVES(COUNT, memory[0]);

    /* The target makes no call. */
    OK(acp_sync());
    if (me == 0 && procs > 1) {
        uint64_t *flag = (uint64_t *)((char *)mine() + 1040);
        *flag = 1;
        acp_complete(started(acp_copy(ga[1] + 8, starter(0) + 1040, 8, ACP_HANDLE_NULL)));
    }
    while (me == 1 && memory[1] == 0)
        ;
    OK(acp_finalize());
    return 0;
}
