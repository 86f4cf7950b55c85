/*
 * Segmented buffers: everybody sends to the next process by two buffers of different shape at once,
 * faster than the other one reads; segments come whole and in order, and the memory that they take
 * does not grow with their number.
 * tasks: 3
 */
#include "acheck.h"
#include <malloc.h>
#include <sched.h>

#define ROUNDS 300
#define MANY 20000
#define AT_ONCE 256

static const size_t sizes[2] = {64, 5000}, counts[2] = {1, 4};

static void alone(void)
{
    char memory[64];
    FAILS(0, EINVAL, (intptr_t)acp_create_src_segbuf(me, memory, 8, 8));
    FAILS(0, EINVAL, (intptr_t)acp_create_dst_segbuf(procs, memory, 8, 8));
    FAILS(0, EINVAL, (intptr_t)acp_create_dst_segbuf(-1, memory, 8, 8));
    FAILS(1, EBADF, acp_connect_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, EBADF, acp_ack_segbuf((acp_segbuf_t)12345));
    FAILS(-1, EBADF, acp_query_segbuf_head(ACP_SEGBUF_NULL));
    if (procs > 1) {
        int other = (me + 1) % procs;
        FAILS(0, EINVAL, (intptr_t)acp_create_src_segbuf(other, memory, 0, 8));
        FAILS(0, EFAULT, (intptr_t)acp_create_src_segbuf(other, NULL, 8, 8));
    }
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A source that asks for nothing but room, and a destination that asks for nothing but segments. */
static void source(void)
{
    uint64_t segments[AT_ONCE];
    acp_segbuf_t src = acp_create_src_segbuf(1, segments, 8, AT_ONCE);
    size_t taken = 0;
    OK(acp_connect_segbuf(src));
    for (int sent = 0; sent < MANY; sent++) {
        while (acp_isready_segbuf(src))
            sched_yield();
        segments[sent % AT_ONCE] = sent;
        OK(acp_ack_segbuf(src));
        if (sent == MANY / 2)
            taken = allocated();
    }
    /* Not even 8 bytes for each of those since. */
    CHECK(allocated() < taken + 4 * MANY);
    OK(acp_disconnect_segbuf(src));
    OK(acp_free_segbuf(src));
}

static void destination(void)
{
    uint64_t segments[AT_ONCE];
    acp_segbuf_t dst = acp_create_dst_segbuf(0, segments, 8, AT_ONCE);
    OK(acp_connect_segbuf(dst));
    for (int got = 0; got < MANY; got++) {
        while (acp_isacked_segbuf(dst))
            sched_yield();
        GIVES(got, segments[got % AT_ONCE]);
        OK(acp_ready_segbuf(dst));
    }
    OK(acp_disconnect_segbuf(dst));
    OK(acp_free_segbuf(dst));
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    alone();
    if (procs == 1) {
        OK(acp_finalize());
        return 0;
    }
    int next = (me + 1) % procs, before = (me + procs - 1) % procs;
    unsigned char *out[2], *in[2];
    acp_segbuf_t src[2], dst[2];
    for (int i = 0; i < 2; i++) {
        out[i] = calloc(counts[i], sizes[i]);
        in[i] = calloc(counts[i], sizes[i]);
        src[i] = acp_create_src_segbuf(next, out[i], sizes[i], counts[i]);
        CHECK(src[i] != ACP_SEGBUF_NULL);
        if (i == 0)
            FAILS(1, ENOTCONN, me == 0 ? acp_disconnect_segbuf(src[i]) : (ACP_ERRNO = ENOTCONN, 1));
    }
    OK(acp_sync());
    for (int i = 0; i < 2; i++) {
        /* Nobody has made the other end. */
        GIVES(1, acp_isconnected_segbuf(src[i]));
        FAILS(1, ENOTCONN, acp_ack_segbuf(src[i]));
        FAILS(-1, ENOTCONN, acp_query_segbuf_tail(src[i]));
    }
    OK(acp_sync());
    for (int i = 0; i < 2; i++) {
        dst[i] = acp_create_dst_segbuf(before, in[i], sizes[i], counts[i]);
        CHECK(dst[i] != ACP_SEGBUF_NULL);
    }
    for (int i = 0; i < 2; i++) {
        OK(acp_connect_segbuf(src[i]));
        OK(acp_connect_segbuf(dst[i]));
        OK(acp_isconnected_segbuf(src[i]));
        GIVES(1, acp_isacked_segbuf(src[i]));
        OK(acp_isready_segbuf(src[i]));
        FAILS(1, EBADF, acp_ready_segbuf(src[i]));
        FAILS(1, EBADF, acp_ack_segbuf(dst[i]));
        FAILS(-1, EBADF, acp_query_segbuf_sent(dst[i]));
        GIVES(0, acp_query_segbuf_head(src[i]));
    }
    OK(acp_sync());

    int sent[2] = {0}, got[2] = {0};
    /* As many as there are segments, of which nobody gives one back yet. */
    for (int i = 0; i < 2; i++) {
        for (; sent[i] < (int)counts[i]; sent[i]++) {
            OK(acp_isready_segbuf(src[i]));
            fill(out[i] + sent[i] * sizes[i], sizes[i], sent[i] + me);
            OK(acp_ack_segbuf(src[i]));
        }
        GIVES(1, acp_isready_segbuf(src[i]));
        FAILS(1, EAGAIN, acp_ack_segbuf(src[i]));
    }
    OK(acp_sync());
    while (sent[0] < ROUNDS || sent[1] < ROUNDS || got[0] < ROUNDS || got[1] < ROUNDS)
        for (int i = 0; i < 2; i++) {
            /* A segment may be written when it is free, which includes that it has been copied. */
            if (sent[i] < ROUNDS && acp_isready_segbuf(src[i]) == 0) {
                GIVES(sent[i] % counts[i], acp_query_segbuf_tail(src[i]));
                fill(out[i] + sent[i] % counts[i] * sizes[i], sizes[i], sent[i] + me);
                OK(acp_ack_segbuf(src[i]));
                sent[i]++;
            }
            if (acp_isacked_segbuf(dst[i]) == 0) {
                GIVES(got[i] % counts[i], acp_query_segbuf_head(dst[i]));
                CHECK(holds(in[i] + got[i] % counts[i] * sizes[i], sizes[i], got[i] + before));
                OK(acp_ready_segbuf(dst[i]));
                got[i]++;
            }
        }
    for (int i = 0; i < 2; i++) {
        GIVES(ROUNDS, got[i]);
        FAILS(1, EAGAIN, acp_ready_segbuf(dst[i]));
        while (acp_query_segbuf_sent(src[i]) != (int64_t)(ROUNDS % counts[i]))
            ;
    }
    OK(acp_sync());
    for (int i = 0; i < 2; i++) {
        FAILS(1, EBADF, acp_free_segbuf(src[i]));
        OK(acp_disconnect_segbuf(src[i]));
        OK(acp_disconnect_segbuf(dst[i]));
        FAILS(1, ENOTCONN, acp_disconnect_segbuf(src[i]));
        GIVES(1, acp_isconnected_segbuf(src[i]));
    }
    for (int i = 0; i < 2; i++) {
        OK(acp_free_segbuf(src[i]));
        OK(acp_free_segbuf(dst[i]));
        FAILS(1, EBADF, acp_free_segbuf(src[i]));
        free(out[i]);
        free(in[i]);
    }

    /* Ends that don't fit each other. */
    char memory[64];
    src[0] = acp_create_src_segbuf(next, memory, 8, 4);
    dst[0] = acp_create_dst_segbuf(before, memory + 32, 8, 2);
    FAILS(1, EINVAL, acp_connect_segbuf(src[0]));
    FAILS(1, EINVAL, acp_connect_segbuf(dst[0]));
    OK(acp_sync());
    /* It would take long where datagrams get lost. */
    if (getenv("LAPIS_CHAOS") == NULL && me == 0)
        source();
    if (getenv("LAPIS_CHAOS") == NULL && me == 1)
        destination();
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
