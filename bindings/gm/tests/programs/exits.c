/* Functions that run when the program ends, whichever way: by gm_exit, by exit, by the return of
 * main. The first argument says which, the second one with what. */
#include "gmcheck.h"

static void bye(gm_status_t status, void *arg) { printf("%s %d\n", (char *)arg, (int)status); }

static void early(gm_status_t status, void *arg) {
    bye(status, arg);
    /* One that is registered now runs, too. */
    gm_on_exit(bye, (void *)"late");
}

int main(int argc, char **argv) {
    int with = argc > 2 ? atoi(argv[2]) : 0;
    CHECK(argc == 3);
    IS(gm_on_exit(bye, (void *)"last"), GM_SUCCESS);
    IS(gm_on_exit(early, (void *)"first"), GM_SUCCESS);
    if (strcmp(argv[1], "gm_exit") == 0) gm_exit((gm_status_t)with);
    if (strcmp(argv[1], "exit") == 0) exit(with);
    return with;
}
