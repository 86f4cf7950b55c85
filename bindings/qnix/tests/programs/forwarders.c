/*
 * A process that was to hand a message on ends before it does: by a signal, or by qx_end. Those behind it have the message all the same, and
 * all that comes after it. WAY says how it ends.
 * tasks: 5
 * env: LAPIS_TIMEOUT=10
 */
#include "qcheck.h"
#include <signal.h>

#define LONG 5000

static int name[5][2];

/* Serves nothing meanwhile. */
static void compute(void)
{
    usleep(300000);
}

static void forwarder(const char *way)
{
    compute();
    if (strcmp(way, "killed") == 0)
        kill(getpid(), SIGKILL);
    leave();
}

static void root(buffer *out)
{
    int *others[4] = {name[1], name[2], name[3], name[4]};
    fill(out->data, LONG, 1);
    int sent = send_of(NULL, 1, out, LONG);
    OK(qx_multicast(sent, 4, others));
    int got = qx_poll_for_send(sent);
    CHECK(got == 0 || got == QX_ERR_PEER);
    for (int to = 1; to < 5; to++)
        if (to != 3) {
            short_to(name[to], 2, "after", 5);
            fill(out->data, LONG * 20, 2);
            int more = send_of(name[to], 3, out, LONG * 20);
            OK(qx_send(more));
            done(more);
        }
}

static void receiver(buffer *in)
{
    GIVES(5, qx_poll_for_receive(receive_of(name[0], 2, in)));
    GIVES(LONG * 20, qx_poll_for_receive(receive_of(name[0], 3, in)));
    CHECK(holds(in->data, LONG * 20, 2));
    GIVES(LONG, qx_poll_for_receive(receive_of(name[0], 1, in)));
    CHECK(holds(in->data, LONG, 1));
    GIVES(QX_ERR_PEER, qx_poll_for_receive(receive_of(name[0], 4, in)));
}

int main(void)
{
    int own[2], all;
    OK(qx_whoami(own, &all));
    /* Nothing is handed on behind the program's back. */
    if (own[1] == 3)
        setenv("LAPIS_INTERRUPT", "no", 1);
    start();
    for (int i = 0; i < 5; i++)
        name[i][0] = me[0], name[i][1] = i;
    buffer b = make(LONG * 20);
    barrier(me[0], size);
    if (me[1] == 3)
        forwarder(getenv("WAY"));
    else if (me[1] == 0)
        root(&b);
    else
        receiver(&b);
    if (me[1] != 3) {
        leave();
        puts("all is there");
    }
    return 0;
}
