/*
 * A process dies, another leaves: whoever waits for them is told, and what does not concern them goes on.
 * tasks: 4
 * env: LAPIS_TIMEOUT=10
 */
#include "qcheck.h"
#include <signal.h>

int main(void)
{
    int name[4][2];
    start();
    for (int i = 0; i < 4; i++)
        name[i][0] = me[0], name[i][1] = i;
    buffer in = make(200000), out = make(200000);
    barrier(me[0], size);
    if (me[1] == 3) {
        /* What it sent before is not lost. */
        short_to(name[0], 1, "last", 4);
        short_to(name[1], 1, "last", 4);
        leave();
        return 0;
    }
    if (me[1] == 2) {
        usleep(100000);
        kill(getpid(), SIGKILL);
    }
    int waits = receive_of(name[2], 7, &in), send = send_of(name[2], 7, &out, 200000), enters = command_context();
    OK(qx_send(send));
    OK(qx_barrier(enters, me[0], size));
    GIVES(QX_ERR_PEER, qx_poll_for_receive(waits));
    GIVES(QX_ERR_PEER, qx_poll_for_send(send));
    GIVES(QX_ERR_PEER, qx_poll_for_send(enters));
    send = send_of(name[2], 7, &out, 8);
    GIVES(QX_ERR_PEER, qx_send(send));
    waits = receive_of(name[2], 7, &in);
    GIVES(QX_ERR_PEER, qx_poll_for_receive(waits));

    GIVES(4, qx_poll_for_receive(receive_of(name[3], 1, &in)));
    CHECK(memcmp(in.data, "last", 4) == 0);
    GIVES(QX_ERR_PEER, qx_poll_for_receive(receive_of(name[3], 1, &in)));

    /* The two that are left. */
    for (int i = 0; i < 100; i++) {
        short_to(name[1 - me[1]], 2, &i, sizeof i);
        GIVES((int)sizeof i, qx_poll_for_receive(receive_of(name[1 - me[1]], 2, &in)));
        CHECK(memcmp(in.data, &i, sizeof i) == 0);
    }
    leave();
    return 0;
}
