/*
 * More operations than may be outstanding, of every short length, each of which is answered: puts
 * and messages whose completion counts, and gets. What a call finds no room for waits or goes
 * another way, and all of it arrives once.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Put, the completion counter is incremented
//= LAPI Guide, LAPI_Get, the origin counter is incremented
//= type=test
#include "check.h"

/* Beyond the bound on operations that are outstanding (8192). */
#define MANY 10000
#define LONGEST 1100

static unsigned char mine[LONGEST + 8], there[LONGEST + 8], got[MANY][24], copy[LONGEST + 8];
static lapi_cntr_t tgt, org, cmpl;
static int headers, bytes, wrong;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapi_return_info_t *ret = (lapi_return_info_t *)msg_len;
    (void)h, (void)info;
    headers++;
    bytes += (int)ret->msg_len + (int)*uhdr_len;
    for (uint i = 0; i < *uhdr_len; i++)
        wrong += ((unsigned char *)uhdr)[i] != (unsigned char)(i + 3);
    ret->ctl_flags = LAPI_BURY_MSG;
    *done = NULL;
    return NULL;
}

/* Each length, awaited: the data are the sender's, and nothing beyond them is touched. */
static void lengths(int to, void *box)
{
    for (int len = 0; len <= LONGEST; len += len < 300 ? 1 : 37) {
        for (int i = 0; i < len; i++)
            mine[i] = (unsigned char)(i * 7 + len);
        OK(LAPI_Put(hndl, to, len, box, mine, NULL, NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        memset(copy, 0xee, sizeof copy);
        OK(LAPI_Get(hndl, to, len, box, copy, NULL, &org));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        CHECK(memcmp(copy, mine, len) == 0);
        CHECK(copy[len] == 0xee && copy[len + 7] == 0xee);
    }
}

int main(void)
{
    start();
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(there), **counters = exchange(&tgt), **handlers = exchange((void *)header);
    int to = (me + 1) % tasks;
    unsigned char uhdr[64];
    for (int i = 0; i < 64; i++)
        uhdr[i] = (unsigned char)(i + 3);

    lengths(to, boxes[to]);
    OK(LAPI_Gfence(hndl));

    /* Puts and messages whose completion counts, with every length of user header. */
    int sent = 0;
    for (int i = 0; i < MANY; i++) {
        int user = i % 17 * 4, len = i % 200;
        OK(LAPI_Put(hndl, to, len, boxes[to], mine, counters[to], NULL, &cmpl));
        OK(LAPI_Amsend(hndl, to, handlers[to], user ? uhdr : NULL, user, mine, len, counters[to], NULL, &cmpl));
        sent += user + len;
    }
    OK(LAPI_Waitcntr(hndl, &cmpl, 2 * MANY, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 2 * MANY, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(headers == MANY && bytes == sent && wrong == 0);
    CHECK(value_of(&cmpl) == 0 && value_of(&tgt) == 0);

    /* Gets, each to a place of its own; the target counts them, too. */
    for (int i = 0; i < LONGEST; i++)
        there[i] = (unsigned char)(i * 5 + me);
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < MANY; i++)
        OK(LAPI_Get(hndl, to, 1 + i % 24, (char *)boxes[to] + i % 1000, got[i], i % 2 ? counters[to] : NULL, &org));
    OK(LAPI_Waitcntr(hndl, &org, MANY, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, MANY / 2, NULL));
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 24; k++)
            CHECK(got[i][k] == (k < 1 + i % 24 ? (unsigned char)((i % 1000 + k) * 5 + to) : 0));
    OK(LAPI_Gfence(hndl));
    CHECK(value_of(&org) == 0 && value_of(&tgt) == 0);
    OK(LAPI_Term(hndl));
    return 0;
}
