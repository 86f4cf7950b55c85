/*
 * Messages between two processes, and to itself: registers, pages and pool, all lengths, in both orders of arrival, many under way.
 * tasks: 2
 */
#include "qcheck.h"

static int other[2];

/* All lengths that matter, with the receive before and after the send. */
static void lengths(void)
{
    static const long all[] = {0, 1, 8, 1023, 1024, 1025, 4095, 4096, 4097, 16384, 16385, 70000, 1000000, QX_SEND_MAX};
    buffer out = make(QX_SEND_MAX), in = make(QX_SEND_MAX);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        for (int late = 0; late < 2; late++) {
            int tag = (int)(i * 2 + late), receive = -1;
            memset(in.data, 0, in.len);
            fill(out.data, all[i], tag + me[1]);
            if (!late)
                receive = receive_of(other, tag, &in);
            barrier(me[0], size);
            int send = send_of(other, tag, &out, all[i]);
            CHECK(hps->send_context[send].state == QX_CONTEXT_SET && hps->send_context[send].len == all[i]);
            OK(qx_send(send));
            if (late) {
                usleep(2000);
                receive = receive_of(other, tag, &in);
            }
            GIVES((int)all[i], qx_poll_for_receive(receive));
            CHECK(holds(in.data, all[i], tag + other[1]));
            done(send);
            CHECK(hps->send_doorbell[send] == QX_DOORBELL_FREE && hps->receive_doorbell[receive] == QX_DOORBELL_FREE);
            CHECK(hps->send_context[send].state == QX_CONTEXT_FREE);
        }
    }
    OK(qx_buffer_unlock(out.data, out.len));
    OK(qx_buffer_unlock(in.data, in.len));
}

/* Registers are copied when the context is assigned; messages of one tag keep their order, whatever their kinds. */
static void order(void)
{
    buffer out = make(200000), in = make(200000);
    int receives[30];
    char text[QX_SHORT_MAX];
    for (int i = 0; i < 30; i++) {
        long len = i % 3 == 0 ? 100000 + i : i % 3 == 1 ? 9000 + i : i;
        int send;
        if (i % 3 == 2) {
            fill(text, len, i);
            send = INDEX(qx_send_context(other, 5, 1, 0, len, -1, (unsigned long *)text));
            memset(text, 0xff, sizeof text);
            OK(qx_send_short(send));
        } else {
            fill(out.data, len, i);
            send = send_of(other, 5, &out, len);
            OK(qx_send(send));
        }
        /* Both sides send before they receive: long ones are on their way only then. */
        receives[i] = receive_of(other, 5, &in);
        GIVES((int)len, qx_poll_for_receive(receives[i]));
        CHECK(holds(in.data, len, i));
        done(send);
    }
}

/* As many commands as there are contexts, and messages that nobody waits for yet. */
static void many(void)
{
    int contexts[QX_CONTEXTS], receives[QX_CONTEXTS];
    buffer in = make(QX_CONTEXTS * 8);
    for (int round = 0; round < 20; round++) {
        for (long i = 0; i < QX_CONTEXTS; i++) {
            unsigned long value = i * 1000 + round;
            contexts[i] = INDEX(qx_send_context(other, (int)i, i % 2, 0, sizeof value, -1, &value));
        }
        GIVES(QX_ERR_NO_CONTEXT, qx_send_context(other, 0, 0, 0, 0, -1, NULL));
        for (int i = QX_CONTEXTS - 1; i >= 0; i--)
            OK(qx_send_short(contexts[i]));
        for (int i = 1; i < QX_CONTEXTS; i += 2)
            done(contexts[i]);
        for (int i = 0; i < QX_CONTEXTS; i++) {
            static unsigned long tables[QX_CONTEXTS][3];
            OK(qx_buffer_translate(in.data + i * 8, 8, tables[i]));
            receives[i] = INDEX(qx_recv_context(other, i, 1, 2, 8, -1, tables[i]));
            OK(qx_receive(receives[i]));
        }
        for (int i = 0; i < QX_CONTEXTS; i++) {
            GIVES(8, qx_poll_for_receive(receives[i]));
            unsigned long value;
            memcpy(&value, in.data + i * 8, 8);
            CHECK(value == (unsigned long)i * 1000 + round);
        }
    }
}

static void pool(void)
{
    OK(qx_buffer_pool(20));
    CHECK(hps->buffer_pool_pages == 20 && (unsigned long)hps->buffer_pool % hps->page_size == 0);
    long len = hps->page_size * 2 + 100;
    char *out = hps->buffer_pool + 3 * hps->page_size, *in = hps->buffer_pool + 10 * hps->page_size;
    fill(out, len, 77);
    int receive = INDEX(qx_recv_context(other, 1, 1, 3, len, 10, NULL));
    OK(qx_receive(receive));
    int send = INDEX(qx_send_context(other, 1, 1, QX_PACKETS(len), len, 3, NULL));
    OK(qx_send(send));
    GIVES((int)len, qx_poll_for_receive(receive));
    CHECK(holds(in, len, 77));
    done(send);
    /* A short one from the pool. */
    receive = INDEX(qx_recv_context(other, 2, 1, 1, 8, 10, NULL));
    OK(qx_receive(receive));
    send = INDEX(qx_send_context(other, 2, 1, 0, 8, 3, NULL));
    OK(qx_send_short(send));
    GIVES(8, qx_poll_for_receive(receive));
    CHECK(holds(in, 8, 77));
    done(send);
}

/* What is too long fills the buffer and is an error of the receiver alone. */
static void too_long(void)
{
    static const long all[] = {100, 10000, 100000};
    buffer out = make(100000), in = make(64);
    for (int i = 0; i < 3; i++) {
        fill(out.data, all[i], i);
        memset(in.data, 0, in.len);
        int receive = receive_of(other, 3, &in), send = send_of(other, 3, &out, all[i]);
        OK(qx_send(send));
        GIVES(QX_ERR_TRUNCATED, qx_poll_for_receive(receive));
        CHECK(holds(in.data, 64, i));
        done(send);
    }
}

/* A program may look at the doorbell itself, which rings while it computes. */
static void bell(void)
{
    buffer in = make(8);
    int receive = receive_of(other, 4, &in);
    CHECK(hps->receive_doorbell[receive] != QX_DOORBELL_FREE);
    barrier(me[0], size);
    short_to(other, 4, "12345678", 8);
    while (hps->receive_doorbell[receive] != QX_DOORBELL_DONE)
        usleep(100);
    CHECK(hps->receive_context[receive].result == 8 && hps->receive_context[receive].state == QX_CONTEXT_ENDED);
    GIVES(8, qx_poll_for_receive(receive));
    CHECK(memcmp(in.data, "12345678", 8) == 0);
}

int main(void)
{
    start();
    other[0] = me[0];
    other[1] = size - 1 - me[1];
    lengths();
    order();
    many();
    pool();
    too_long();
    bell();
    barrier(me[0], size);
    leave();
    return 0;
}
