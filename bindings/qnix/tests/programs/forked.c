/*
 * A forked child can't use its parent's cluster, and does it no harm.
 * tasks: 3
 */
#define _GNU_SOURCE
#include "qcheck.h"
#include <sys/wait.h>

/* A broadcast is written to memory that all processes of the host see. */
static void in_child(int *other, int assigned, buffer *b)
{
    GIVES(QX_ERR_NOT_INITIALIZED, qx_send_context(other, 1, 0, 0, 4, -1, (unsigned long *)"bad"));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_broadcast_short(assigned, me[0]));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_send_short(assigned));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_barrier(assigned, me[0], size));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_buffer_unlock(b->data, b->len));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_end(me));
    _exit(0);
}

int main(void)
{
    start();
    buffer b = make(8);
    int root[2] = {me[0], 0}, other[2] = {me[0], 1};
    for (int round = 0; round < 4; round++) {
        if (me[1] == 0) {
            int context = INDEX(qx_send_context(NULL, 1, 1, 0, sizeof round, -1, (unsigned long *)&round));
            if (round == 2) {
                int status = 0;
                pid_t child = fork();
                if (child == 0)
                    in_child(other, context, &b);
                CHECK(waitpid(child, &status, 0) == child && status == 0);
            }
            OK(qx_broadcast_short(context, me[0]));
            done(context);
        } else {
            GIVES((int)sizeof round, qx_poll_for_receive(receive_of(root, 1, &b)));
            CHECK(memcmp(b.data, &round, sizeof round) == 0);
        }
        barrier(me[0], size);
    }
    leave();
    return 0;
}
