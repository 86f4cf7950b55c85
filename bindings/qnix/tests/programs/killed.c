/*
 * A process is killed at any moment of a busy job. What the others have with each other goes on; what they have with it ends, well or with
 * QX_ERR_PEER. VICTIM says who, MICROSECONDS when.
 * tasks: 4
 * env: LAPIS_TIMEOUT=10
 */
#include "qcheck.h"
#include <signal.h>
#include <sys/time.h>

#define ROUNDS 60

static int name[4][2], victim;
static buffer ins[4], out;

static void die(int signal)
{
    kill(getpid(), signal == SIGALRM ? SIGKILL : signal);
}

/* Whatever concerns the victim alone. */
static void or_peer(int got)
{
    CHECK(got >= 0 || got == QX_ERR_PEER);
}

static void done_with(int context)
{
    OK(qx_multicast_short(context, 0, NULL));
    done(context);
}

static void one_round(int round)
{
    static const long lens[5] = {8, 300, 5000, 90000, 700000};
    long len = lens[round % 5], receives[4];
    int *others[3], n = 0, sent, barrier, to_victim;
    for (int from = 0; from < 4; from++)
        receives[from] = from == me[1] ? -1 : receive_of(name[from], round, &ins[from]);
    for (int to = 0; to < 4; to++)
        if (to != me[1] && to != victim)
            others[n++] = name[to];
    fill(out.data, len, round * 4 + me[1]);
    sent = send_of(NULL, round, &out, len);
    OK(qx_multicast(sent, n, others));
    to_victim = INDEX(qx_send_context(name[victim], round, 1, 0, 8, -1, (unsigned long *)out.data));
    int posted = qx_send_short(to_victim);
    or_peer(posted);
    barrier = command_context();
    OK(qx_barrier(barrier, me[0], size));
    for (int from = 0; from < 4; from++)
        if (from == victim && from != me[1]) {
            or_peer(qx_poll_for_receive(receives[from]));
        } else if (from != me[1] && me[1] != victim) {
            GIVES((int)len, qx_poll_for_receive(receives[from]));
            CHECK(holds(ins[from].data, len, round * 4 + from));
        } else if (from != me[1]) {
            GIVES(8, qx_poll_for_receive(receives[from]));
        }
    done(sent);
    if (posted == 0)
        or_peer(qx_poll_for_send(to_victim));
    else /* The context is still there, and is used up by a message to nobody. */
        done_with(to_victim);
    or_peer(qx_poll_for_send(barrier));
}

int main(void)
{
    start();
    victim = atoi(getenv("VICTIM"));
    for (int i = 0; i < 4; i++) {
        name[i][0] = me[0], name[i][1] = i;
        ins[i] = make(700000);
    }
    out = make(700000);
    barrier(me[0], size);
    if (me[1] == victim) {
        long microseconds = atol(getenv("MICROSECONDS"));
        struct itimerval after = {{0, 0}, {microseconds / 1000000, microseconds % 1000000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &after, NULL);
    }
    for (int round = 0; round < ROUNDS; round++)
        one_round(round);
    if (me[1] == victim)
        for (;;)
            pause();
    GIVES(QX_ERR_PEER, qx_poll_for_receive(receive_of(name[victim], ROUNDS, &ins[victim])));
    leave();
    puts("survived");
    return 0;
}
