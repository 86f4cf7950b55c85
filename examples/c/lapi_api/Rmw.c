/* LAPI_Rmw: the four operations on the buddy's variable. */
#include "../sample.h"

static int variable = 40;
static lapi_cntr_t org;
static void **variables;

static int modify(RMW_ops_t op, int a, int b)
{
    int operands[2] = {a, b}, before;
    MUST(LAPI_Rmw(hndl, op, buddy, variables[buddy], operands, &before, &org));
    MUST(LAPI_Waitcntr(hndl, &org, 1, NULL));
    return before;
}

int main(void)
{
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &org, 0));
    variables = addresses_of(&variable);
    if (task % 2 == 0) {
        int add = modify(FETCH_AND_ADD, 2, 0), or = modify(FETCH_AND_OR, 5, 0), swap = modify(SWAP, 1, 0);
        int hit = modify(COMPARE_AND_SWAP, 1, 99), miss = modify(COMPARE_AND_SWAP, 1, 100);
        printf("task %d: before adding %d, before or %d, before swapping %d; swaps if equal: %d, %d\n", task, add, or, swap, hit, miss);
    }
    end_sample();
    if (task % 2)
        printf("task %d ends with %d\n", task, variable);
    return 0;
}
