/*
 * Random programs against a model: all processes draw the same list of messages, send theirs and receive theirs, each in the order of the
 * list and with as many under way as its own draw says. The model says what each message holds, and who gets it. Two applications, a group
 * of both; barriers in all of them between the messages.
 * tasks: 5
 * env: QX_APPLICATIONS=4:2,9:3
 */
#include "qcheck.h"

#define MESSAGES 300
#define AHEAD 20
#define TAGS 3

#define ALL 77
#define PROCESSES 5

static int world[PROCESSES][2] = {{4, 0}, {4, 1}, {9, 0}, {9, 1}, {9, 2}};
static int self; /* This process's place in it. */

enum { TO_ONE, TO_GROUP, TO_LIST, BARRIER };

typedef struct {
    int from, tag, kind;
    int group;           /* of a message to a group, or of a barrier */
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

/* The members of a group, as bits. */
static unsigned members(int group)
{
    unsigned bits = 0;
    for (int i = 0; i < PROCESSES; i++)
        bits |= (group == ALL || group == world[i][0]) << i;
    return bits;
}

static void draw(unsigned seed)
{
    static const int groups[3] = {ALL, 4, 9};
    state = seed;
    for (int i = 0; i < MESSAGES; i++) {
        message *m = &list[i];
        m->from = any(PROCESSES);
        m->tag = any(TAGS);
        m->kind = any(10) == 0 ? BARRIER : (int)any(3);
        m->group = groups[any(3)];
        m->in_registers = any(2);
        m->len = m->in_registers ? any(QX_SHORT_MAX + 1) : any(4) ? any(30000) : any(500000);
        /* Whoever is no member may write to a group as well. */
        m->to = m->kind == TO_ONE ? 1u << any(PROCESSES) : m->kind == TO_GROUP ? members(m->group) & ~(1u << m->from) : any(1u << PROCESSES);
    }
}

static int sends[AHEAD], receives[AHEAD], received[AHEAD];
static buffer outs[AHEAD], ins[AHEAD];

static void post(int i, int slot)
{
    message *m = &list[i];
    int *to = world[__builtin_ffs(m->to | 1u << PROCESSES) - 1], *pointers[PROCESSES], n = 0;
    if (m->kind == BARRIER) {
        sends[slot] = command_context();
        OK(qx_barrier(sends[slot], m->group, __builtin_popcount(members(m->group))));
        return;
    }
    fill(outs[slot].data, m->len, i);
    if (m->kind != TO_ONE)
        to = NULL;
    sends[slot] = m->in_registers ? INDEX(qx_send_context(to, m->tag, 1, 0, m->len, -1, (unsigned long *)outs[slot].data))
                                  : send_of(to, m->tag, &outs[slot], m->len);
    for (int k = 0; k < PROCESSES; k++)
        if (m->to & 1u << k)
            pointers[n++] = world[k];
    switch (m->kind * 2 + m->in_registers) {
    case 0: OK(qx_send(sends[slot])); break;
    case 1: OK(qx_send_short(sends[slot])); break;
    case 2: OK(qx_broadcast(sends[slot], m->group)); break;
    case 3: OK(qx_broadcast_short(sends[slot], m->group)); break;
    case 4: OK(qx_multicast(sends[slot], n, pointers)); break;
    case 5: OK(qx_multicast_short(sends[slot], n, pointers)); break;
    }
}

/* Whether this process posts an entry of the list. */
static int is_mine(const message *m)
{
    return m->kind == BARRIER ? members(m->group) >> self & 1 : (unsigned)(m->from == self);
}

/* Sends and receives go on independently, each side as far ahead as it likes: what is received is in the order of the list for each sender
 * and tag, because that is the order in which it was sent. */
static void play(unsigned seed)
{
    draw(seed);
    unsigned long mine = state;
    state = mine + self * 977;
    int sent = 0, got = 0, out_first = 0, out_next = 0, in_first = 0, in_next = 0;
    for (int done_all = 0; !done_all;) {
        unsigned steps = 1 + any(AHEAD);
        while (steps-- && sent < MESSAGES && out_next - out_first < AHEAD) {
            if (is_mine(&list[sent]))
                post(sent, out_next++ % AHEAD);
            sent++;
        }
        steps = 1 + any(AHEAD);
        while (steps-- && got < MESSAGES && in_next - in_first < AHEAD) {
            message *m = &list[got];
            if (m->kind != BARRIER && m->to & 1u << self) {
                int slot = in_next++ % AHEAD;
                received[slot] = got;
                receives[slot] = receive_of(world[m->from], m->tag, &ins[slot]);
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
    barrier(ALL, PROCESSES);
}

int main(void)
{
    start();
    while (memcmp(world[self], me, sizeof me) != 0)
        self++;
    join(ALL, PROCESSES);
    for (int i = 0; i < AHEAD; i++) {
        outs[i] = make(500000);
        ins[i] = make(500000);
    }
    for (unsigned seed = 1; seed <= 6; seed++)
        play(seed);
    leave();
    return 0;
}
