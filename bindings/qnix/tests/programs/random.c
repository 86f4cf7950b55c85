/*
 * Random programs against a model: all processes draw the same list of messages, send theirs and receive theirs, each in the order of the
 * list and with as many under way as its own draw says. The model says what each message holds, and who gets it.
 * tasks: 4
 */
#include "qcheck.h"

#define MESSAGES 300
#define AHEAD 20
#define TAGS 3

typedef struct {
    int from, tag, kind; /* 0: to one, 1: to the application, 2: to a list */
    int in_registers;
    unsigned to;         /* bits */
    long len;
} message;

static message list[MESSAGES];
static unsigned long state;

static unsigned any(unsigned below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % below;
}

static void draw(unsigned seed)
{
    state = seed;
    for (int i = 0; i < MESSAGES; i++) {
        message *m = &list[i];
        m->from = any(size);
        m->tag = any(TAGS);
        m->kind = any(3);
        m->in_registers = any(2);
        m->len = m->in_registers ? any(QX_SHORT_MAX + 1) : any(4) ? any(30000) : any(500000);
        m->to = m->kind == 0 ? 1u << any(size) : m->kind == 1 ? ((1u << size) - 1) & ~(1u << m->from) : any(1u << size);
    }
}

static int sends[AHEAD], receives[AHEAD], received[AHEAD];
static buffer outs[AHEAD], ins[AHEAD];

static void send_message(int i, int slot)
{
    message *m = &list[i];
    int to[2] = {me[0], __builtin_ffs(m->to) - 1}, names[32][2], *pointers[32], n = 0;
    fill(outs[slot].data, m->len, i);
    sends[slot] = m->in_registers ? INDEX(qx_send_context(to, m->tag, 1, 0, m->len, -1, (unsigned long *)outs[slot].data))
                                  : send_of(to, m->tag, &outs[slot], m->len);
    for (int k = 0; k < size; k++)
        if (m->to & 1u << k) {
            names[n][0] = me[0], names[n][1] = k;
            pointers[n] = names[n];
            n++;
        }
    switch (m->kind * 2 + m->in_registers) {
    case 0: OK(qx_send(sends[slot])); break;
    case 1: OK(qx_send_short(sends[slot])); break;
    case 2: OK(qx_broadcast(sends[slot], me[0])); break;
    case 3: OK(qx_broadcast_short(sends[slot], me[0])); break;
    case 4: OK(qx_multicast(sends[slot], n, pointers)); break;
    case 5: OK(qx_multicast_short(sends[slot], n, pointers)); break;
    }
}

/* Sends and receives go on independently, each side as far ahead as it likes: what is received is in the order of the list for each sender
 * and tag, because that is the order in which it was sent. */
static void play(unsigned seed)
{
    draw(seed);
    unsigned long mine = state;
    state = mine + me[1] * 977;
    int sent = 0, got = 0, out_first = 0, out_next = 0, in_first = 0, in_next = 0;
    for (int done_all = 0; !done_all;) {
        unsigned steps = 1 + any(AHEAD);
        while (steps-- && sent < MESSAGES && out_next - out_first < AHEAD) {
            if (list[sent].from == me[1])
                send_message(sent, out_next++ % AHEAD);
            sent++;
        }
        steps = 1 + any(AHEAD);
        while (steps-- && got < MESSAGES && in_next - in_first < AHEAD) {
            message *m = &list[got];
            if (m->to & 1u << me[1]) {
                int from[2] = {me[0], m->from}, slot = in_next++ % AHEAD;
                received[slot] = got;
                receives[slot] = receive_of(from, m->tag, &ins[slot]);
            }
            got++;
        }
        /* Who has posted all sends it could may wait for what was sent before; receives are posted as far as that. */
        int sends_done = sent == MESSAGES, receives_done = got == MESSAGES;
        while (in_first < in_next && (hps->receive_doorbell[receives[in_first % AHEAD]] == QX_DOORBELL_DONE || (sends_done && receives_done))) {
            int slot = in_first++ % AHEAD;
            message *m = &list[received[slot]];
            GIVES((int)m->len, qx_poll_for_receive(receives[slot]));
            CHECK(holds(ins[slot].data, m->len, received[slot]));
        }
        while (out_first < out_next && (hps->send_doorbell[sends[out_first % AHEAD]] == QX_DOORBELL_DONE || (sends_done && receives_done))) {
            done(sends[out_first % AHEAD]);
            out_first++;
        }
        done_all = sends_done && receives_done && out_first == out_next && in_first == in_next;
    }
    barrier(me[0], size);
}

int main(void)
{
    start();
    for (int i = 0; i < AHEAD; i++) {
        outs[i] = make(500000);
        ins[i] = make(500000);
    }
    for (unsigned seed = 1; seed <= 6; seed++)
        play(seed);
    leave();
    return 0;
}
