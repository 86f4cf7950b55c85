/*
 * Every answer of LAPI_Msgpoll: nothing happened, something was sent, something was received, both, another thread polls.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Msgpoll, loops until a message completes
//= LAPI Guide, LAPI_Msgpoll, LAPI_POLLING_NET
//= type=test
#include "check.h"
#include <pthread.h>

#define MANY 2000000
#define STREAM 1000
static char box[MANY], data[MANY];
static lapi_cntr_t org;
static volatile int got, answered;
static void **headers;
static lapi_thread_func_t lock;

static void *quietly(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    ((lapi_return_info_t *)msg_len)->ret_flags = LAPI_LOCAL_STATE;
    got++;
    *done = NULL;
    return box;
}

/* Sends within the round that receives. */
static void answer(lapi_handle_t *h, void *from)
{
    OK(LAPI_Amsend(*h, (int)(intptr_t)from, headers[(int)(intptr_t)from], NULL, 0, NULL, 0, NULL, NULL, NULL));
    answered++;
}

static void *answering(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapi_return_info_t *more = (lapi_return_info_t *)msg_len;
    (void)h, (void)uhdr, (void)uhdr_len;
    more->ret_flags = LAPI_SEND_REPLY;
    *info = (void *)(intptr_t)more->src;
    *done = answer;
    return NULL;
}

/* What had come when LAPI_Msgpoll last said so. */
static int told;

static uint poll(uint loops)
{
    lapi_msg_info_t info;
    memset(&info, 0xff, sizeof info);
    OK(LAPI_Msgpoll(hndl, loops, &info));
    if (info.status != LAPI_POLLING_NET)
        told = got;
    return info.status;
}

static void *poller(void *answer)
{
    *(uint *)answer = poll(1);
    return NULL;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    int other = 1 - me;
    OK(LAPI_Setcntr(hndl, &org, 0));
    headers = exchange((void *)quietly);
    void **answerers = exchange((void *)answering);
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Gfence(hndl));

    /* A long message from task 0: its end is a send there and a receipt here. */
    if (me == 0)
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, MANY, NULL, &org, NULL));
    uint seen = 0;
    while (me == 0 ? !(seen & LAPI_SEND_COMPLETE) : !(seen & LAPI_RECV_COMPLETE))
        seen |= poll(100);
    CHECK(me == 1 || value_of(&org) == 1);
    CHECK(me == 0 || got == 1);
    OK(LAPI_Gfence(hndl));

    /* A stream, of which a call handles some messages at once: each call says whether there was one. */
    for (int i = 0; me == 0 && i < STREAM; i++)
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, 1 + i % 40, NULL, NULL, NULL));
    while (me == 1 && got < 1 + STREAM) {
        int before = told;
        seen = poll(100);
        CHECK(!(seen & LAPI_RECV_COMPLETE) == (got == before));
    }
    OK(LAPI_Gfence(hndl));
    got = 0;

    /* One round that receives a message and sends the answer to it. */
    if (me == 0) {
        OK(LAPI_Amsend(hndl, other, answerers[other], NULL, 0, NULL, 0, NULL, NULL, NULL));
        while (got == 0)
            poll(1);
    } else {
        while (answered == 0) {
            seen = poll(1000);
            if (answered)
                CHECK(seen == (LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE | LAPI_BOTH_COMPLETE));
        }
    }
    OK(LAPI_Gfence(hndl));

    /* Nothing comes any more. */
    do
        seen = poll(10);
    while (seen != LAPI_DISP_CNTR);
    OK(LAPI_Gfence(hndl));

    /* A get between vectors is received at its origin and sent at its target. Its request counts for neither. */
    lapi_cntr_t fetched;
    OK(LAPI_Setcntr(hndl, &fetched, 0));
    void **boxes = exchange(box);
    void *from = boxes[other], *to = data;
    ulong one = 8;
    lapi_vec_t there = {LAPI_GEN_IOVECTOR, 1, &from, &one}, here = {LAPI_GEN_IOVECTOR, 1, &to, &one};
    OK(LAPI_Gfence(hndl));
    do
        seen = poll(10);
    while (seen != LAPI_DISP_CNTR);
    OK(LAPI_Gfence(hndl));
    if (me == 0)
        OK(LAPI_Getv(hndl, other, &there, &here, NULL, &fetched));
    seen = 0;
    while (me == 0 ? value_of(&fetched) == 0 : !(seen & LAPI_SEND_COMPLETE))
        seen |= poll(1);
    /* LAPI_Getcntr may have found it. */
    seen |= poll(1);
    CHECK(seen & (me == 0 ? LAPI_RECV_COMPLETE : LAPI_SEND_COMPLETE));
    CHECK(!(seen & (me == 0 ? LAPI_SEND_COMPLETE : LAPI_RECV_COMPLETE)));
    if (me == 0)
        OK(LAPI_Waitcntr(hndl, &fetched, 1, NULL));
    OK(LAPI_Gfence(hndl));

    /* What ends within another call is told by the next one, as the guide's sample for lock sharing needs it: its first message
     * may come before the receiver has left LAPI_Gfence. */
    if (me == 0) {
        OK(LAPI_Amsend(hndl, other, headers[other], NULL, 0, data, 1, NULL, NULL, NULL));
        OK(LAPI_Fence(hndl));
    }
    OK(LAPI_Gfence(hndl));
    CHECK(poll(1) & (me == 0 ? LAPI_SEND_COMPLETE : LAPI_RECV_COMPLETE));
    do
        seen = poll(10);
    while (seen != LAPI_DISP_CNTR);

    /* Whoever finds another thread in the dispatcher leaves it to that one. */
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    pthread_t thread;
    CHECK(lock.mutex_lock(hndl) == 0);
    CHECK(pthread_create(&thread, NULL, poller, &seen) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(lock.mutex_unlock(hndl) == 0);
    CHECK(seen == LAPI_POLLING_NET);
    finish();
    return 0;
}
