/*
 * Send completion handlers that send the next message: however many follow each other, they take no more stack than a few.
 * tasks: 2
 */
//= LAPI Guide, The send completion handler, runs when the send-side buffer is available
//= type=test
#include "check.h"
#include <lapis.h>

/* Nested in one another, so many calls with their handlers need more stack than there is. */
#define LINKS 30000

/* What the other task or the network answers takes long, and its handlers are not called within the call. */
#define ANSWERED 500

static lapi_xfer_t command;
static volatile int left, deep, deepest;
static lapi_cntr_t org, tgt;
static lapi_long_t arrived;

static void next(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    CHECK(argument == &command && info->reason == LAPI_SUCCESS);
    deep++;
    deepest = deep > deepest ? deep : deepest;
    if (--left > 0)
        OK(LAPI_Xfer(*h, &command));
    deep--;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return &arrived;
}

/* So many operations, of which the program begins the first; each counts `org` here. */
static void chain(int links)
{
    left = links;
    OK(LAPI_Xfer(hndl, &command));
    OK(LAPI_Waitcntr(hndl, &org, links, NULL));
    while (left > 0)
        OK(LAPI_Probe(hndl));
    CHECK(value_of(&org) == 0);
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    void *block;
    OK(lapis_alloc(hndl, 64, &block));
    memset(block, 0, 64);
    void **headers = exchange((void *)header), **counters = exchange(&tgt), **blocks = exchange(block);
    lapi_long_t data = 7;
    for (int to = me, round = 0; round < tasks; round++, to = (to + 1) % tasks) {
        lapi_long_t counter = (lapi_long_t)(uintptr_t)counters[to], there = (lapi_long_t)(uintptr_t)blocks[to];
        int links = to == me ? LINKS : ANSWERED;
        OK(LAPI_Gfence(hndl));
        command.Am = (lapi_am_t){LAPI_AM_XFER, 0, to, (lapi_long_t)(uintptr_t)headers[to], 0, NULL, &data, sizeof data, next, &command, counter, &org, NULL};
        chain(LINKS);
        OK(LAPI_Waitcntr(hndl, &tgt, LINKS, NULL));
        CHECK(arrived == 7);
        command.Put = (lapi_put_t){LAPI_PUT_XFER, 0, to, there, &data, sizeof data, next, &command, counter, &org, NULL};
        chain(links);
        OK(LAPI_Waitcntr(hndl, &tgt, links, NULL));
        CHECK(*(lapi_long_t *)block == 7);
        int in = 1, previous;
        command.Rmw = (lapi_rmw_t){LAPI_RMW_XFER, FETCH_AND_ADD, to, 32, there + 8, &in, &previous, &org, next, &command};
        chain(links);
        OK(LAPI_Gfence(hndl));
        CHECK(((int *)block)[2] == LINKS + round * ANSWERED);
    }
    CHECK(deep == 0 && deepest < 100);
    OK(lapis_free(hndl, block));
    finish();
    return 0;
}
