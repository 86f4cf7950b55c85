/*
 * Puts and gets of ordinary memory, so many that each way to copy them is tried and chosen: every byte
 * and every counter is right whichever way they go.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Put
//= LAPI Guide, LAPI_Get
//= type=test
#include "check.h"

/* More than there are from one trial of the ways to the next. */
#define ROUNDS 1300
#define LENGTH 20000L
#define LONG_ROUNDS 60
#define LONG_LENGTH 3000001L

static unsigned char *sent, *received;
static void *others[2], *landings[2];
static lapi_cntr_t landed, reusable, complete, here;

static void fill(unsigned char *bytes, long len, int salt)
{
    long i;
    for (i = 0; i < len; i++)
        bytes[i] = (unsigned char)(i * 31 + (i >> 8) + salt);
}

static int differs(const unsigned char *bytes, long len, int salt)
{
    long i, wrong = 0;
    for (i = 0; i < len; i++)
        wrong += bytes[i] != (unsigned char)(i * 31 + (i >> 8) + salt);
    return wrong != 0;
}

static void once(int round, long len)
{
    int left;
    fill(sent, len, round + me);
    if (me == 1)
        OK(LAPI_Waitcntr(hndl, &landed, 1, &left));
    OK(LAPI_Put(hndl, 1 - me, len, others[1 - me], sent, landings[1 - me], &reusable, &complete));
    if (me == 0)
        OK(LAPI_Waitcntr(hndl, &landed, 1, &left));
    CHECK(!differs(received, len, round + 1 - me));
    OK(LAPI_Waitcntr(hndl, &reusable, 1, &left));
    OK(LAPI_Waitcntr(hndl, &complete, 1, &left));
    /* What the other task has been given comes back. */
    OK(LAPI_Gfence(hndl));
    memset(sent, 0, len);
    OK(LAPI_Get(hndl, 1 - me, len, others[1 - me], sent, NULL, &here));
    OK(LAPI_Waitcntr(hndl, &here, 1, &left));
    CHECK(left == 0 && !differs(sent, len, round + me));
    OK(LAPI_Gfence(hndl));
}

int main(void)
{
    int round;
    start();
    sent = malloc(LONG_LENGTH);
    received = malloc(LONG_LENGTH);
    OK(LAPI_Setcntr(hndl, &landed, 0));
    OK(LAPI_Setcntr(hndl, &reusable, 0));
    OK(LAPI_Setcntr(hndl, &complete, 0));
    OK(LAPI_Setcntr(hndl, &here, 0));
    OK(LAPI_Address_init(hndl, received, others));
    OK(LAPI_Address_init(hndl, &landed, landings));
    for (round = 0; round < ROUNDS; round++)
        once(round, LENGTH);
    for (round = 0; round < LONG_ROUNDS; round++)
        once(round, LONG_LENGTH);
    finish();
    free(sent);
    free(received);
    return 0;
}
