/* LAPI_Rmw64: a counter beyond 32 bits at task 0, which all tasks add to. */
#include "../sample.h"

static long long counter;

int main(void)
{
    begin_sample();
    void **counters = addresses_of(&counter);
    long long much = 1LL << 40;
    MUST(LAPI_Rmw64(hndl, FETCH_AND_ADD, 0, counters[0], &much, NULL, NULL));
    MUST(LAPI_Gfence(hndl));
    if (task == 0)
        printf("the counter is %lld times 2 to the 40th\n", counter >> 40);
    end_sample();
    return 0;
}
