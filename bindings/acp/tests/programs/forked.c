/*
 * A forked child can't use its parent's job, and does it no harm.
 * tasks: 2
 */
#define _GNU_SOURCE
#include "acheck.h"
#include <sys/wait.h>

static char memory[8];

/* Short messages go to memory that both processes of the job see. */
static void in_child(acp_ch_t channel, acp_atkey_t key)
{
    FAILS(-1, ENOTCONN, acp_rank());
    FAILS(-1, ENOTCONN, acp_sync());
    FAILS(ACP_GA_NULL, ENOTCONN, acp_query_starter_ga(0));
    FAILS(ACP_HANDLE_NULL, ENOTCONN, acp_copy(key, key, 8, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, (intptr_t)acp_nbsend_ch(channel, "bad", 4));
    FAILS(0, ENOTCONN, (intptr_t)acp_nbrecv_ch(channel, memory, 8));
    FAILS(-1, ENOTCONN, acp_free_ch(channel));
    FAILS(-1, ENOTCONN, acp_unregister_memory(key));
    FAILS(-1, ENOTCONN, acp_finalize());
    _exit(0);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    acp_atkey_t key;
    registered(memory, sizeof memory, &key);
    acp_ch_t channel = procs > 1 ? acp_create_ch(0, 1) : ACP_CH_NULL;
    OK(acp_sync());
    /* The first one tells the sender where the others go. */
    for (int round = 0; procs > 1 && round < 4; round++) {
        char text[2] = {(char)('a' + round), 0};
        if (me == 1) {
            GIVES(2, acp_wait_ch(acp_nbrecv_ch(channel, memory, sizeof memory)));
            GIVES(text[0], memory[0]);
        } else {
            GIVES(2, acp_wait_ch(acp_nbsend_ch(channel, text, 2)));
        }
        OK(acp_sync());
        int status = 0;
        pid_t child = me == 0 && round == 1 ? fork() : -1;
        if (child == 0)
            in_child(channel, key);
        if (child > 0) {
            GIVES(child, waitpid(child, &status, 0));
            GIVES(0, status);
        }
        OK(acp_sync());
    }
    if (channel != ACP_CH_NULL)
        OK(acp_free_ch(channel));
    OK(acp_unregister_memory(key));
    OK(acp_finalize());
    return 0;
}
