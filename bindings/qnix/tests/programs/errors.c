/*
 * Each error of each call, and calls with senseless arguments, which do no harm.
 * tasks: 2
 */
#include "qcheck.h"

static unsigned long random_state = 1;

static unsigned any(unsigned below)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(random_state >> 33) % below;
}

static void before(void)
{
    unsigned long table[4];
    GIVES(QX_ERR_NOT_INITIALIZED, qx_send(0));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_last_error());
    GIVES(QX_ERR_NOT_INITIALIZED, qx_buffer_translate((char *)table, 8, table));
    int bad[][4] = {{1, 0, 2, 2}, {1, 2, 1, 2}, {1, -1, 1, 2}, {-1, 0, -1, 2}, {1, 0, 1, 0}};
    CHECK(qx_init(NULL, 1, 1) == NULL && qx_last_error() == QX_ERR_NULL);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(qx_init(bad[i], bad[i][2], bad[i][3]) == NULL && qx_last_error() == QX_ERR_NAME);
}

static void memory(void)
{
    static char bytes[100000];
    unsigned long table[600];
    GIVES(QX_ERR_NULL, qx_buffer_lock(NULL, 8));
    GIVES(QX_ERR_LENGTH, qx_buffer_lock(bytes, 0));
    GIVES(QX_ERR_LENGTH, qx_buffer_lock(bytes, -1));
    GIVES(QX_ERR_LOCK, qx_buffer_lock((char *)4096, 8192));
    GIVES(QX_ERR_LOCK, qx_buffer_unlock(bytes, 8));
    GIVES(QX_ERR_LOCK, qx_buffer_translate(bytes, 8, table));
    OK(qx_buffer_lock(bytes, sizeof bytes));
    GIVES(QX_ERR_NULL, qx_buffer_translate(bytes, 8, NULL));
    GIVES(QX_ERR_LENGTH, qx_buffer_translate(bytes, QX_SEND_MAX + 1l, table));
    OK(qx_buffer_translate(bytes, sizeof bytes, table));
    GIVES(QX_ERR_LENGTH, qx_buffer_pool(0));
    GIVES(QX_ERR_LENGTH, qx_buffer_pool(-1));
    GIVES(QX_ERR_LENGTH, qx_buffer_pool(QX_POOL_MAX / hps->page_size + 1));
    GIVES(QX_ERR_POOL, qx_send_context(me, 0, 0, 1, 8, 0, NULL));
    OK(qx_buffer_pool(2));
    GIVES(QX_ERR_POOL, qx_buffer_pool(2));
    GIVES(QX_ERR_POOL, qx_send_context(me, 0, 0, 1, 8, 2, NULL));
    GIVES(QX_ERR_POOL, qx_send_context(me, 0, 0, 1, 8, -2, NULL));
    GIVES(QX_ERR_POOL, qx_recv_context(me, 0, 0, 1, 2 * hps->page_size + 1, 0, NULL));

    /* Addresses that were never given, of memory that is there, or not any more. */
    unsigned long forged = (unsigned long)bytes;
    GIVES(QX_ERR_ADDRESS, qx_send_context(me, 0, 0, 1, 8, -1, &forged));
    GIVES(QX_ERR_ADDRESS, qx_recv_context(me, 0, 0, 1, 8, -1, &forged));
    forged = table[0] ^ 1ul << 50;
    GIVES(QX_ERR_ADDRESS, qx_send_context(me, 0, 0, 1, 8, -1, &forged));
    table[1] += 8;
    GIVES(QX_ERR_ADDRESS, qx_send_context(me, 0, 0, QX_PACKETS(50000), 50000, -1, table));
    table[1] -= 8;
    OK(qx_buffer_unlock(bytes, sizeof bytes));
    GIVES(QX_ERR_ADDRESS, qx_send_context(me, 0, 0, 1, 8, -1, table));
}

static void contexts(void)
{
    int nobody[2] = {me[0], size}, nowhere[2] = {me[0] + 5, 0};
    buffer b = make(100000);
    GIVES(QX_ERR_LENGTH, qx_send_context(me, 0, 0, 0, -1, -1, b.table));
    GIVES(QX_ERR_LENGTH, qx_send_context(me, 0, 0, QX_PACKETS(QX_SEND_MAX + 1), QX_SEND_MAX + 1l, -1, b.table));
    GIVES(QX_ERR_LENGTH, qx_send_context(me, 0, 0, 0, QX_SHORT_MAX + 1, -1, b.table));
    GIVES(QX_ERR_SIZE, qx_send_context(me, 0, 0, 1, 1025, -1, b.table));
    GIVES(QX_ERR_SIZE, qx_recv_context(me, 0, 0, 1, 100000, -1, b.table));
    GIVES(QX_ERR_SIZE, qx_recv_context(me, 0, 0, -1, 8, -1, b.table));
    GIVES(QX_ERR_NULL, qx_send_context(me, 0, 0, 0, 8, -1, NULL));
    GIVES(QX_ERR_NULL, qx_send_context(me, 0, 0, 1, 8, -1, NULL));
    GIVES(QX_ERR_NULL, qx_recv_context(NULL, 0, 0, 1, 8, -1, b.table));
    GIVES(QX_ERR_PROCESS, qx_recv_context(nobody, 0, 0, 1, 8, -1, b.table));
    int send = INDEX(qx_send_context(nowhere, 0, 0, 1, 8, -1, b.table));
    GIVES(QX_ERR_PROCESS, qx_send(send));
    send = INDEX(qx_send_context(NULL, 0, 0, 1, 8, -1, b.table));
    GIVES(QX_ERR_PROCESS, qx_send(send));

    for (int bad = -1; bad <= QX_CONTEXTS + 1; bad += QX_CONTEXTS + 2) {
        GIVES(QX_ERR_CONTEXT, qx_send(bad));
        GIVES(QX_ERR_CONTEXT, qx_receive(bad));
        GIVES(QX_ERR_CONTEXT, qx_barrier(bad, me[0], size));
        GIVES(QX_ERR_CONTEXT, qx_poll_for_send(bad));
        GIVES(QX_ERR_CONTEXT, qx_poll_for_receive(bad));
    }
    GIVES(QX_ERR_CONTEXT, qx_send(QX_CONTEXTS - 1));
    int quiet = INDEX(qx_send_context(me, 9, 0, 1, 8, -1, b.table)), loud = send_of(me, 9, &b, 8);
    GIVES(QX_ERR_DOORBELL, qx_poll_for_send(quiet));
    GIVES(QX_ERR_STATE, qx_poll_for_send(loud));
    int in_register = INDEX(qx_send_context(me, 9, 0, 0, 8, -1, b.table));
    GIVES(QX_ERR_KIND, qx_send(in_register));
    int in_pages = send_of(me, 9, &b, 5000);
    GIVES(QX_ERR_KIND, qx_send_short(in_pages));
    int waits = receive_of(me, 10, &b);
    GIVES(QX_ERR_STATE, qx_receive(waits));
    short_to(me, 10, "abc", 3);
    GIVES(3, qx_poll_for_receive(waits));
    GIVES(QX_ERR_CONTEXT, qx_poll_for_receive(waits));
}

static void groups(void)
{
    int context = command_context(), *list[3] = {me, me, NULL};
    GIVES(QX_ERR_GROUP, qx_barrier(context, 99, 1));
    GIVES(QX_ERR_GROUP, qx_broadcast(context, 99));
    GIVES(QX_ERR_GROUP_SIZE, qx_barrier(context, me[0], size + 1));
    GIVES(QX_ERR_GROUP_SIZE, qx_barrier(context, me[0], -1));
    GIVES(QX_ERR_GROUP_EXISTS, qx_join_group(context, me[0], size));
    GIVES(QX_ERR_GROUP_SIZE, qx_join_group(context, 98, 0));
    GIVES(QX_ERR_GROUP_SIZE, qx_join_group(context, 98, -7));
    GIVES(QX_ERR_GROUP_SIZE, qx_join_group(context, 98, size + 1));
    GIVES(QX_ERR_COUNT, qx_multicast(context, -1, list));
    GIVES(QX_ERR_COUNT, qx_multicast(context, 1 << 30, list));
    GIVES(QX_ERR_NULL, qx_multicast(context, 1, NULL));
    GIVES(QX_ERR_NULL, qx_multicast(context, 1, list + 2));
    if (size > 1)
        GIVES(QX_ERR_COUNT, qx_multicast(context, 2, list));
    OK(qx_multicast(context, 0, NULL));
    done(context);
    join(-3 - me[1], 1);
    join(-3 - me[1] - 100, 1);
    context = command_context();
    GIVES(QX_ERR_GROUP_EXISTS, qx_join_group(context, -3 - me[1], 1));
}

/* Numbers of all kinds; pointers are sound, for nobody can check those. */
static void senseless(void)
{
    static const int odd[] = {0, 1, -1, 2, 7, 63, 64, 1 << 20, 0x7fffffff, -0x7fffffff - 1};
    static unsigned long room[2048];
    int pair[2];
#define ODD odd[any(sizeof odd / sizeof *odd)]
    for (int i = 0; i < 20000; i++) {
        pair[0] = ODD, pair[1] = ODD;
        int *list[1] = {pair};
        switch (any(9)) {
        case 0: qx_send_context(pair, ODD, 0, ODD, ODD, ODD, room); break;
        case 1: qx_recv_context(pair, ODD, 0, ODD, ODD, ODD, room); break;
        case 2: qx_multicast_short(ODD, any(2), list); break;
        case 3: qx_broadcast(ODD, ODD); break;
        case 4: qx_buffer_translate((char *)room, ODD, room); break;
        case 5: qx_barrier(ODD, ODD + 1000, ODD); break;
        case 6: qx_join_group(ODD | 64, ODD, ODD); break;
        case 7: qx_buffer_pool(ODD); break;
        case 8: CHECK(qx_strerror(ODD) != NULL); break;
        }
    }
}

int main(void)
{
    before();
    start();
    CHECK(qx_init(me, me[0], size) == NULL && qx_last_error() == QX_ERR_INITIALIZED);
    memory();
    contexts();
    groups();
    barrier(me[0], size);
    senseless();
    int wrong[2] = {me[0], me[1] + 1};
    GIVES(QX_ERR_NAME, qx_end(wrong));
    GIVES(QX_ERR_NULL, qx_end(NULL));
    leave();
    return 0;
}
