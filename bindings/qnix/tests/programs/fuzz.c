/*
 * Arguments without sense: whatever the calls are given, they answer with one of the errors or do what was asked, and afterwards everything
 * works as before.
 * tasks: 2
 */
#include "qcheck.h"

#define CALLS 20000
#define WAITING 20

static unsigned long state;
static buffer mine;
/* As many entries as the longest message has pages: who says so much has them. */
static unsigned long table[QX_SEND_MAX / 4096 + 2], data[QX_SHORT_MAX / sizeof(unsigned long)];
static int waiting, mates[2][2];

static unsigned any(unsigned below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % below;
}

/* A number: small, at a border, or anything. */
static long number(void)
{
    static const long borders[] = {0, -1, 1, 63, 64, 1023, 1024, 1025, 4096, 4097, 16384, 2 << 20, (2 << 20) + 1, 8 << 20,
                                   2147483647, -2147483647 - 1, 9223372036854775807, -9223372036854775807 - 1};
    switch (any(3)) {
    case 0: return any(8);
    case 1: return borders[any(sizeof borders / sizeof *borders)];
    default: return (long)(state ^ state << 21);
    }
}

/* Nobody's name, or somebody's; NULL now and then. */
static int *name(void)
{
    static int pair[2];
    if (any(6) == 0)
        return NULL;
    pair[0] = any(2) ? me[0] : (int)number();
    pair[1] = any(2) ? (int)any(3) : (int)number();
    return pair;
}

static int answer(int got)
{
    if (got < 0) {
        CHECK(got >= QX_ERR_COUNT);
        CHECK(strcmp(qx_strerror(got), qx_strerror(-1000)) != 0);
        CHECK(qx_last_error() == got);
    }
    return got;
}

/* A table that is right, has a forged entry, or is made of nonsense altogether. */
static unsigned long *pages(void)
{
    if (any(8) == 0)
        return NULL;
    memcpy(table, mine.table, (mine.pages + 1) * sizeof *table);
    for (int kind = any(3), at = 0; kind && at < QX_SEND_MAX / 4096 + 2; at++)
        if (kind == 2 || any(20) == 0)
            table[at] = any(2) ? (unsigned long)number() : table[any(mine.pages)] + any(9000);
    return table;
}

static void memory(void)
{
    char *somewhere = any(3) == 0 ? NULL : mine.data + any(mine.len);
    long len = number();
    switch (any(4)) {
    case 0:
        /* What was locked is unlocked again: pages that are in use stay. */
        if (answer(qx_buffer_lock(somewhere, len)) == 0)
            OK(qx_buffer_unlock(somewhere, len));
        break;
    case 1:
        if (answer(qx_buffer_translate(somewhere, len > mine.len ? len : len % 4096, any(4) ? table : NULL)) == 0)
            CHECK(somewhere && len != 0);
        break;
    case 2: answer(qx_buffer_unlock(NULL, len)); break;
    /* A pool that is too large or has no pages is none. */
    default: CHECK(answer(qx_buffer_pool(any(2) ? -(int)any(100) : 2049 + (int)any(1000000))) < 0);
    }
}

/* A context, and a command with it; whatever may be refused is, and what can't end is not asked for. */
static void sending(void)
{
    int registers = any(2), len_known = any(4);
    long len = len_known ? any(QX_SHORT_MAX + 2) : number();
    int packets = registers ? 0 : any(4) ? QX_PACKETS(len % (4 << 20)) : (int)number();
    int at = answer(qx_send_context(name(), any(WAITING), any(2), packets, len, any(5) ? -1 : (int)number(), registers ? (any(9) ? data : NULL) : pages()));
    int index = any(4) && at >= 0 ? at : (int)number(), *list[4] = {mates[0], mates[1], any(2) ? name() : mates[any(2)], NULL};
    switch (any(9)) {
    case 0: answer(qx_send(index)); break;
    case 1: answer(qx_send_short(index)); break;
    case 2: answer(qx_broadcast(index, any(2) ? me[0] : (int)number())); break;
    case 3: answer(qx_broadcast_short(index, any(2) ? me[0] : (int)number())); break;
    case 4: answer(qx_multicast(index, any(2) ? (int)number() : (int)any(4), any(5) ? list : NULL)); break;
    case 5: answer(qx_multicast_short(index, any(2) ? (int)number() : (int)any(4), any(5) ? list : NULL)); break;
    case 6: answer(qx_barrier(index, any(2) ? me[0] : (int)number(), any(2) ? -(int)any(5) : 3 + (int)any(100))); break;
    case 7: answer(qx_join_group(index, any(2) ? me[0] : (int)number(), any(2) ? -(int)any(5) : 3 + (int)any(100))); break;
    default: break;
    }
    /* No context is left without a command: one that sends to nobody is one. */
    if (at >= 0 && hps->send_context[at].state == QX_CONTEXT_SET && answer(qx_multicast_short(at, 0, NULL)) < 0)
        OK(qx_multicast(at, 0, NULL));
}

static void receiving(void)
{
    if (waiting >= WAITING)
        return;
    int at = answer(qx_recv_context(any(3) ? mates[any(2)] : name(), 100 + any(WAITING), 1, any(3) ? mine.pages : (int)number(),
                                    any(3) ? any(9000) : number(), any(5) ? -1 : (int)number(), pages()));
    if (at >= 0) {
        waiting++;
        OK(qx_receive(at));
    }
    answer(qx_receive((int)number() | (1 << 20)));
}

static void polling(void)
{
    int at = any(4) ? (int)any(70) - 3 : (int)number();
    if (at < 0 || at >= QX_CONTEXTS || hps->send_context[at].state != QX_CONTEXT_POSTED)
        answer(qx_poll_for_send(at));
    if (at < 0 || at >= QX_CONTEXTS || hps->receive_context[at].state != QX_CONTEXT_POSTED)
        answer(qx_poll_for_receive(at));
}

int main(void)
{
    CHECK(qx_poll_for_send(3) == QX_ERR_NOT_INITIALIZED);
    start();
    mates[0][0] = mates[1][0] = me[0];
    mates[1][1] = 1;
    mine = make(60000);
    state = 17 + me[1];
    for (int i = 0; i < CALLS; i++) {
        switch (any(6)) {
        case 0: memory(); break;
        case 1: receiving(); break;
        case 2: polling(); break;
        case 3:
            CHECK(qx_init(name(), (int)number(), (int)number()) == NULL);
            GIVES(QX_ERR_INITIALIZED, qx_last_error());
            mates[0][0]--;
            CHECK(answer(qx_end(mates[0])) < 0);
            mates[0][0]++;
            break;
        default: sending();
        }
    }
    for (int i = 0; i < QX_CONTEXTS; i++)
        if (hps->send_context[i].state == QX_CONTEXT_ENDED)
            answer(qx_poll_for_send(i));
    /* It still does what it should. */
    barrier(me[0], size);
    unsigned long word = me[1], got = 9;
    int *other = mates[1 - me[1]];
    short_to(other, 500, &word, sizeof word);
    GIVES((int)sizeof word, qx_poll_for_receive(receive_of(other, 500, &mine)));
    memcpy(&got, mine.data, sizeof got);
    CHECK(got == 1 - word);
    leave();
    return 0;
}
