/*
 * What acprun says of memory reaches acp_init, and the program gets its own arguments alone. One that
 * keeps its arguments to itself gets as much memory.
 * tasks: 3
 */
#include "acheck.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "hidden") == 0) {
        join(NULL, NULL);
        GIVES(4, argc);
    } else {
        join(&argc, &argv);
        GIVES(3, argc);
        CHECK(strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0 && argv[3] == NULL);
    }
    GIVES(3, procs);
    /* Starter memory of 20000 bytes, and 4 MiB for acp_malloc. */
    char *bytes = mine();
    bytes[0] = (char)(me + 1);
    acp_complete(started(acp_copy(starter((me + 1) % procs) + 19999, starter(me), 1, ACP_HANDLE_NULL)));
    OK(acp_sync());
    GIVES((me + procs - 1) % procs + 1, bytes[19999]);
    CHECK(acp_malloc(3 << 20, (me + 1) % procs) != ACP_GA_NULL);
    FAILS(ACP_GA_NULL, ENOMEM, acp_malloc(3 << 20, (me + 1) % procs));
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
