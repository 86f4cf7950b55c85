/*
 * Read-modify-write of 32 and 64 bits, by their own calls and by LAPI_Xfer.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Rmw, read-modify-write of 32 bits
//= LAPI Guide, LAPI_Rmw64, read-modify-write of 64 bits
//= LAPI Guide, LAPI_Rmw, COMPARE_AND_SWAP answers TRUE or FALSE
//= type=test
#include "check.h"

static int narrow;
static long long wide;
static lapi_cntr_t org;

static int rmw(RMW_ops_t op, int tgt, void *var, int a, int b)
{
    int in[2] = {a, b}, previous = -99;
    OK(LAPI_Rmw(hndl, op, tgt, var, in, &previous, &org));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    return previous;
}

static long long rmw64(Rmw_ops_t op, int tgt, void *var, long long a, long long b)
{
    long long in[2] = {a, b}, previous = -99;
    OK(LAPI_Rmw64(hndl, op, tgt, var, in, &previous, &org));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    return previous;
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &org, 0));
    void **narrows = exchange(&narrow), **wides = exchange(&wide);
    int to = (me + 1) % tasks;

    /* Each task has its neighbour's variables to itself. */
    CHECK(rmw(FETCH_AND_ADD, to, narrows[to], 5, 0) == 0);
    CHECK(rmw(FETCH_AND_ADD, to, narrows[to], -7, 0) == 5);
    CHECK(rmw(SWAP, to, narrows[to], 0x70, 0) == -2);
    CHECK(rmw(FETCH_AND_OR, to, narrows[to], 0x07, 0) == 0x70);
    CHECK(rmw(COMPARE_AND_SWAP, to, narrows[to], 0x70, 1) == 0);
    CHECK(rmw(COMPARE_AND_SWAP, to, narrows[to], 0x77, 1) == 1);
    CHECK(rmw(SWAP, to, narrows[to], 0, 0) == 1);

    long long big = 1LL << 40;
    CHECK(rmw64(FETCH_AND_ADD, to, wides[to], big, 0) == 0);
    CHECK(rmw64(FETCH_AND_OR, to, wides[to], 3, 0) == big);
    CHECK(rmw64(COMPARE_AND_SWAP, to, wides[to], big, 1) == 0);
    CHECK(rmw64(COMPARE_AND_SWAP, to, wides[to], big + 3, -1) == 1);
    CHECK(rmw64(SWAP, to, wides[to], 0, 0) == -1);
    OK(LAPI_Gfence(hndl));

    /* All of them at task 0's, nobody asks for the previous value. */
    for (int i = 0; i < 3000; i++) {
        int one = 1;
        long long two = 2;
        OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, narrows[0], &one, NULL, &org));
        OK(LAPI_Rmw64(hndl, FETCH_AND_ADD, 0, wides[0], &two, NULL, NULL));
    }
    OK(LAPI_Waitcntr(hndl, &org, 3000, NULL));
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        CHECK(narrow == 3000 * tasks);
        CHECK(wide == 6000LL * tasks);
    }
    finish();
    return 0;
}
