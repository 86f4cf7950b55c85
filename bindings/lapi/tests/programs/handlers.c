/*
 * Header handlers by index and by address with every field of lapi_return_info_t; completion handlers on threads and inline.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Amsend, the header handler
//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
//= LAPI Guide, LAPI_Addr_set, an index in place of an address
//= type=test
#include "check.h"
#include <pthread.h>

enum { PLAIN = 1, BURY = 2, DROP = 3, LOCAL = 4, REPLY = 5, NOWHERE = 6, PING = 7, BLOCK = 8 };

#define MANY 200000
static char box[MANY], data[MANY];
static lapi_cntr_t tgt, org, cmpl, answers, unused;
static void **counters, **boxes, **replies;
static volatile int magic, src, single, dropped, ran, inline_ran, blocked;
static volatile ulong length;
static pthread_t volatile handler_thread, completion_thread;

static void note(lapi_handle_t *h, uint uhdr_len, ulong *msg_len)
{
    lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
    CHECK(*h == hndl);
    CHECK(uhdr_len % 4 == 0);
    CHECK(info->ret_flags == LAPI_NORMAL && info->ctl_flags == LAPI_DELIVER_MSG && info->dgsp_handle == NULL);
    magic = info->MAGIC;
    src = info->src;
    single = info->udata_one_pkt_ptr != NULL;
    length = *msg_len;
    if (single && *msg_len)
        CHECK(memcmp(info->udata_one_pkt_ptr, "0123456789", *msg_len < 10 ? *msg_len : 10) == 0);
    handler_thread = pthread_self();
}

static void completed(lapi_handle_t *h, void *argument)
{
    (void)argument;
    CHECK(*h == hndl);
    completion_thread = pthread_self();
    ran++;
}

static void *plain(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)uhdr, (void)info;
    note(h, *uhdr_len, msg_len);
    *done = completed;
    return box;
}

static void *bury(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    plain(h, uhdr, uhdr_len, msg_len, done, info);
    ((lapi_return_info_t *)msg_len)->ctl_flags = LAPI_BURY_MSG;
    return box;
}

static void *nowhere(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    plain(h, uhdr, uhdr_len, msg_len, done, info);
    return NULL;
}

/* Refuses each message twice. */
static void *drop(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    plain(h, uhdr, uhdr_len, msg_len, done, info);
    if (dropped++ < 2)
        ((lapi_return_info_t *)msg_len)->ctl_flags = LAPI_DROP_PKT;
    return box;
}

static void inlined(lapi_handle_t *h, void *argument)
{
    (void)h, (void)argument;
    inline_ran++;
    completion_thread = pthread_self();
}

static void *local(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)uhdr, (void)info;
    note(h, *uhdr_len, msg_len);
    ((lapi_return_info_t *)msg_len)->ret_flags = LAPI_LOCAL_STATE;
    *done = inlined;
    return box;
}

/* An inline completion handler may send. */
static void answer(lapi_handle_t *h, void *argument)
{
    int to = (int)(intptr_t)argument;
    inline_ran++;
    OK(LAPI_Amsend(*h, to, (void *)PING, NULL, 0, NULL, 0, replies[to], NULL, NULL));
}

static void *reply(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)uhdr;
    note(h, *uhdr_len, msg_len);
    ((lapi_return_info_t *)msg_len)->ret_flags = LAPI_SEND_REPLY;
    *info = (void *)(intptr_t)src;
    *done = answer;
    return box;
}

static void *ping(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return NULL;
}

/* A completion handler on a thread may block, fetch and wait. */
static void blocking(lapi_handle_t *h, void *argument)
{
    int from = (int)(intptr_t)argument;
    lapi_cntr_t here;
    char fetched[16] = "";
    OK(LAPI_Setcntr(*h, &here, 0));
    OK(LAPI_Get(*h, from, 10, (char *)boxes[from] + MANY - 16, fetched, NULL, &here));
    OK(LAPI_Waitcntr(*h, &here, 1, NULL));
    CHECK(memcmp(fetched, "end of box", 10) == 0);
    OK(LAPI_Fence(*h));
    usleep(1000);
    __atomic_fetch_add(&blocked, 1, __ATOMIC_RELAXED);
}

static void *block(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)uhdr;
    note(h, *uhdr_len, msg_len);
    *info = (void *)(intptr_t)src;
    *done = blocking;
    return NULL;
}

/* Sends to the other task and waits until everything about it has happened on both sides. */
static void send_to(void *handler, ulong len)
{
    int to = 1 - me;
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Amsend(hndl, to, handler, len % 8 ? "user hdr" : NULL, len % 8 ? 8 : 0, len ? data : NULL, len,
                   counters[to], &org, &cmpl));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(src == to && length == len);
}

int main(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.num_compl_hndlr_thr = 3;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    CHECK(tasks == 2);
    for (int i = 0; i < MANY; i++)
        data[i] = '0' + i % 10;
    strcpy(box + MANY - 16, "end of box");
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Setcntr(hndl, &answers, 0));
    OK(LAPI_Setcntr(hndl, &unused, 0));
    OK(LAPI_Addr_set(hndl, (void *)plain, PLAIN));
    OK(LAPI_Addr_set(hndl, (void *)bury, BURY));
    OK(LAPI_Addr_set(hndl, (void *)drop, DROP));
    OK(LAPI_Addr_set(hndl, (void *)local, LOCAL));
    OK(LAPI_Addr_set(hndl, (void *)reply, REPLY));
    OK(LAPI_Addr_set(hndl, (void *)nowhere, NOWHERE));
    OK(LAPI_Addr_set(hndl, (void *)ping, PING));
    OK(LAPI_Addr_set(hndl, (void *)block, BLOCK));
    counters = exchange(&tgt);
    boxes = exchange(box);
    replies = exchange(&answers);
    void **addresses = exchange((void *)plain);
    int packet;
    OK(LAPI_Qenv(hndl, MAX_PKT_SZ, &packet));
    CHECK(packet >= 1024);

    static const ulong lengths[] = {0, 1, 100, 1000, MANY - 16};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ulong len = lengths[i];
        for (int by_index = 0; by_index < 2; by_index++) {
            int before = ran;
            memset(box, 0, MANY - 16);
            send_to(by_index ? (void *)PLAIN : addresses[1 - me], len);
            CHECK(memcmp(box, data, len) == 0 && box[len] == (len == MANY - 16 ? 'e' : 0));
            CHECK(ran == before + 1);
            CHECK(!pthread_equal(completion_thread, pthread_self()));
            CHECK(magic != 0);
            if (len + 8 <= (ulong)packet)
                CHECK(single);
            if (len > (ulong)packet)
                CHECK(!single);
        }
        int before = ran;
        memset(box, 0, MANY - 16);
        send_to((void *)BURY, len);
        CHECK(len == 0 || box[0] == 0);
        send_to((void *)NOWHERE, len);
        CHECK(len == 0 || box[0] == 0);
        CHECK(ran == before + 2);

        dropped = 0;
        send_to((void *)DROP, len);
        CHECK(dropped == 3 && memcmp(box, data, len) == 0);

        before = inline_ran;
        send_to((void *)LOCAL, len);
        CHECK(inline_ran == before + 1);

        send_to((void *)REPLY, len);
        OK(LAPI_Waitcntr(hndl, &answers, 1, NULL));
        OK(LAPI_Gfence(hndl));
    }

    /* Many handlers that block, on three threads. */
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < 30; i++)
        OK(LAPI_Amsend(hndl, 1 - me, (void *)BLOCK, NULL, 0, NULL, 0, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 30, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(blocked == 30);
    CHECK(value_of(&unused) == 0);
    finish();
    return 0;
}
