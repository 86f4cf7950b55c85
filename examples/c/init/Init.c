/* Initialization with an error handler, and again after termination. Needs one task only. */
//= LAPI Guide, table 32, initialization of a LAPI handle after termination
//= LAPI Guide, table 32, user error handler
//= type=test
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called when something fails that no call of ours can report. If it returns, the program goes on. */
static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *source)
{
    char text[LAPI_MAX_ERR_STRING];
    LAPI_Msg_string(*code, text);
    fprintf(stderr, "handle %u, task %d: %s (type %d, because of task %d)\n", *hndl, *task, text, *type, *source);
    exit(1);
}

int main(void)
{
    for (int round = 1; round <= 3; round++) {
        lapi_handle_t hndl;
        lapi_info_t info;
        memset(&info, 0, sizeof info);
        info.lib_vers = LAST_LIB;
        info.err_hndlr = (void *)on_error;
        if (LAPI_Init(&hndl, &info) || LAPI_Gfence(hndl) || LAPI_Term(hndl))
            return 1;
        printf("round %d: initialized and terminated\n", round);
    }
    return 0;
}
