/*
 * What a program sees: the Host Parameter Structure, contexts and doorbells at each step, and the limits that the header names.
 * tasks: 2
 */
#include "qcheck.h"

static int other[2];

/* What a context shows. */
static void shows(const qx_context_t *c, int tag, int flag, int size_, long len, int index, int state)
{
    CHECK(c->proc_name[0] == other[0] && c->proc_name[1] == other[1]);
    CHECK(c->tag == tag && c->doorbell_flag == flag && c->size == size_ && c->len == len);
    CHECK(c->buffer_pool_index == index && c->state == state);
}

static void pool(void)
{
    CHECK(hps->buffer_pool_pages == 0 && hps->buffer_pool == NULL);
    /*= QNIX API, qx_buffer_pool, at most 8 MB */
    GIVES(QX_ERR_LENGTH, qx_buffer_pool(QX_POOL_MAX / hps->page_size + 1));
    OK(qx_buffer_pool(16));
    /*= QNIX API, qx_buffer_pool, page aligned and locked */
    CHECK(hps->buffer_pool_pages == 16 && (unsigned long)hps->buffer_pool % hps->page_size == 0);
    CHECK(hps->page_size == sysconf(_SC_PAGESIZE));
}

/* The same on both sides: a message goes to the other one, and one comes. */
static void steps(void)
{
    long len = 5000;
    int pages = (int)((len + hps->page_size - 1) / hps->page_size);
    fill(hps->buffer_pool, len, me[1]);
    /*= QNIX API, qx_recv_context, size counts pages */
    GIVES(QX_ERR_SIZE, qx_recv_context(other, 1, 1, pages - 1, len, 8, NULL));
    int receive = INDEX(qx_recv_context(other, 1, 1, pages, len, 8, NULL));
    shows(&hps->receive_context[receive], 1, 1, pages, len, 8, QX_CONTEXT_SET);
    CHECK(hps->receive_doorbell[receive] == QX_DOORBELL_FREE);
    OK(qx_receive(receive));
    barrier(me[0], size);
    CHECK(hps->receive_context[receive].state == QX_CONTEXT_POSTED && hps->receive_doorbell[receive] == QX_DOORBELL_BUSY);
    barrier(me[0], size);

    /*= QNIX API, qx_send_context, size counts packets */
    GIVES(QX_ERR_SIZE, qx_send_context(other, 1, 1, QX_PACKETS(len) - 1, len, 0, NULL));
    int send = INDEX(qx_send_context(other, 1, 1, (int)((len + QX_PACKET_SIZE - 1) / QX_PACKET_SIZE), len, 0, NULL));
    shows(&hps->send_context[send], 1, 1, QX_PACKETS(len), len, 0, QX_CONTEXT_SET);
    CHECK(hps->send_doorbell[send] == QX_DOORBELL_FREE);
    OK(qx_send(send));
    while (hps->send_doorbell[send] == QX_DOORBELL_BUSY)
        usleep(100);
    CHECK(hps->send_doorbell[send] == QX_DOORBELL_DONE && hps->send_context[send].state == QX_CONTEXT_ENDED);
    CHECK(hps->send_context[send].result == QX_OK);
    /*= QNIX API, qx_poll_for_send, sets the doorbell to Free */
    done(send);
    CHECK(hps->send_doorbell[send] == QX_DOORBELL_FREE && hps->send_context[send].state == QX_CONTEXT_FREE);

    /* It rings without any call. */
    while (hps->receive_doorbell[receive] != QX_DOORBELL_DONE)
        usleep(100);
    CHECK(hps->receive_context[receive].result == len);
    /*= QNIX API, qx_poll_for_receive, sets the doorbell to Free */
    GIVES((int)len, qx_poll_for_receive(receive));
    CHECK(hps->receive_doorbell[receive] == QX_DOORBELL_FREE && hps->receive_context[receive].state == QX_CONTEXT_FREE);
    CHECK(holds(hps->buffer_pool + 8 * hps->page_size, len, other[1]));
}

/*= QNIX API, qx_send_context, takes the first context that is free */
static void contexts(void)
{
    int at[QX_CONTEXTS];
    for (int i = 0; i < QX_CONTEXTS; i++) {
        at[i] = command_context();
        CHECK(at[i] == i);
    }
    GIVES(QX_ERR_NO_CONTEXT, qx_send_context(NULL, 0, 1, 0, 0, -1, NULL));
    for (int i = 0; i < QX_CONTEXTS; i += 2)
        OK(qx_multicast_short(at[i], 0, NULL));
    done(at[40]);
    CHECK(command_context() == 40);
    OK(qx_multicast_short(40, 0, NULL));
    for (int i = 1; i < QX_CONTEXTS; i += 2)
        OK(qx_multicast_short(at[i], 0, NULL));
    for (int i = 0; i < QX_CONTEXTS; i++)
        done(at[i]);
}

/*= QNIX API, qx_send_context, copies data into the context */
static void registers(void)
{
    static unsigned long words[QX_SHORT_MAX / sizeof(unsigned long) + 1];
    words[7] = 700 + me[1];
    GIVES(QX_ERR_LENGTH, qx_send_context(other, 2, 1, 0, QX_SHORT_MAX + 1, -1, words));
    int send = INDEX(qx_send_context(other, 2, 1, 0, QX_SHORT_MAX, -1, words));
    words[7] = 0;
    OK(qx_send_short(send));
    done(send);
    int receive = INDEX(qx_recv_context(other, 2, 1, 2, 2 * hps->page_size, 4, NULL));
    OK(qx_receive(receive));
    GIVES(QX_SHORT_MAX, qx_poll_for_receive(receive));
    CHECK(((unsigned long *)(hps->buffer_pool + 4 * hps->page_size))[7] == 700ul + other[1]);
}

static void limits(void)
{
    static unsigned long table[QX_SEND_MAX / 4096 + 2];
    char *memory = malloc(QX_SEND_MAX + 1);
    OK(qx_buffer_lock(memory, QX_SEND_MAX + 1));
    /*= QNIX API, qx_buffer_translate, at most 2 MB */
    GIVES(QX_ERR_LENGTH, qx_buffer_translate(memory, QX_SEND_MAX + 1, table));
    OK(qx_buffer_translate(memory, QX_SEND_MAX, table));
    GIVES(QX_ERR_LENGTH, qx_send_context(other, 3, 1, QX_PACKETS(QX_SEND_MAX + 1), QX_SEND_MAX + 1, -1, table));
    OK(qx_buffer_unlock(memory, QX_SEND_MAX + 1));
    GIVES(QX_ERR_ADDRESS, qx_send_context(other, 3, 1, QX_PACKETS(QX_SEND_MAX), QX_SEND_MAX, -1, table));
    free(memory);
}

int main(void)
{
    /*= QNIX API, qx_init, returns when all processes have been registered */
    start();
    CHECK(hps->proc_name[0] == me[0] && hps->proc_name[1] == me[1] && hps->group_name == me[0] && hps->group_size == 2);
    other[0] = me[0];
    other[1] = 1 - me[1];
    pool();
    steps();
    contexts();
    registers();
    limits();
    leave();
    /* It stays readable. */
    CHECK(hps->group_size == 2);
    return 0;
}
