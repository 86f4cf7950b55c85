/*
 * Everything that a task can send, sent to itself: short, long, empty; alone and beside others.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Amsend, transfers a user message to a task
//= LAPI Guide, LAPI_Get, copies data from a task
//= LAPI Guide, LAPI_Rmw, read-modify-write of 32 bits
//= type=test
#include "check.h"

#define MANY 300000
static char box[MANY], data[MANY], back[MANY];
static lapi_cntr_t tgt, org, cmpl;
static volatile int handled;

static void completion(lapi_handle_t *h, void *argument)
{
    lapi_cntr_t here;
    CHECK(argument == box);
    /* A handler may fetch from its own task and wait. */
    OK(LAPI_Setcntr(*h, &here, 0));
    OK(LAPI_Get(*h, me, 100, data, back, NULL, &here));
    OK(LAPI_Waitcntr(*h, &here, 1, NULL));
    handled++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr;
    CHECK(*uhdr_len == 4);
    CHECK(((lapi_return_info_t *)msg_len)->src == me);
    *done = completion;
    *info = box;
    return box;
}

static void *parts[2] = {box + 7, box + 5000};
static ulong lens[2] = {20, 4000};
static lapi_vec_t into = {LAPI_GEN_IOVECTOR, 2, parts, lens};

static lapi_vec_t *vheader(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)len_vec, (void)info;
    *done = NULL;
    return &into;
}

static void all(int completions)
{
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    if (completions)
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
}

int main(void)
{
    static const ulong lengths[] = {0, 1, 8, 4000, 70000, MANY};
    start();
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    for (int i = 0; i < MANY; i++)
        data[i] = i * 11 + me;
    int n = 0;
    for (size_t round = 0; round < sizeof lengths / sizeof *lengths; round++) {
        ulong len = lengths[round];
        memset(box, 0, sizeof box);
        OK(LAPI_Amsend(hndl, me, (void *)header, "uhdr", 4, data, len, &tgt, &org, &cmpl));
        all(1);
        CHECK(memcmp(box, data, len) == 0 && handled == ++n);
        memset(box, 0, sizeof box);
        OK(LAPI_Put(hndl, me, len, box, data, &tgt, &org, &cmpl));
        all(1);
        CHECK(memcmp(box, data, len) == 0);
        memset(back, 0, sizeof back);
        OK(LAPI_Get(hndl, me, len, box, back, &tgt, &org));
        all(0);
        CHECK(memcmp(back, data, len) == 0);
    }
    void *from[2] = {data, data + 30};
    lapi_vec_t vec = {LAPI_GEN_IOVECTOR, 2, from, lens};
    for (int how = 0; how < 3; how++) {
        memset(how == 2 ? data : box, 'Z', 9000);
        if (how == 0)
            OK(LAPI_Putv(hndl, me, &into, &vec, &tgt, &org, &cmpl));
        else if (how == 1)
            OK(LAPI_Amsendv(hndl, me, (void *)vheader, NULL, 0, &vec, &tgt, &org, &cmpl));
        else
            OK(LAPI_Getv(hndl, me, &into, &vec, &tgt, &org));
        all(how != 2);
        CHECK(memcmp(box + 7, data, 20) == 0 && memcmp(box + 5000, data + 30, 4000) == 0);
        CHECK(how == 2 || (box[6] == 'Z' && box[27] == 'Z'));
    }
    int variable = 5, seven = 7, previous = 0;
    long long wide = 1LL << 40, one = 1, previous64 = 0;
    OK(LAPI_Rmw(hndl, FETCH_AND_ADD, me, &variable, &seven, &previous, &org));
    OK(LAPI_Rmw64(hndl, FETCH_AND_OR, me, &wide, &one, &previous64, &org));
    OK(LAPI_Waitcntr(hndl, &org, 2, NULL));
    CHECK(previous == 5 && variable == 12 && previous64 == 1LL << 40 && wide == (1LL << 40) + 1);
    OK(LAPI_Fence(hndl));
    CHECK(value_of(&tgt) == 0 && value_of(&org) == 0 && value_of(&cmpl) == 0);
    finish();
    return 0;
}
