/* Every second number goes to every third place; the origin counter says when the buffer is free again. */
//= LAPI Guide, table 32, origin counter
//= type=test
#include "../sample.h"

#define COUNT 5

static int sink[3 * COUNT];

int main(void)
{
    lapi_cntr_t org, cmpl;
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &org, 0));
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    void **far = addresses_of(sink);
    if (task % 2 == 0) {
        int source[2 * COUNT];
        for (int i = 0; i < 2 * COUNT; i++)
            source[i] = i;
        void *from[3] = {source, (void *)sizeof(int), (void *)(2 * sizeof(int))};
        void *to[3] = {far[buddy], (void *)sizeof(int), (void *)(3 * sizeof(int))};
        lapi_vec_t origin = {LAPI_GEN_STRIDED_XFER, COUNT, from, NULL}, target = {LAPI_GEN_STRIDED_XFER, COUNT, to, NULL};
        MUST(LAPI_Putv(hndl, buddy, &target, &origin, NULL, &org, &cmpl));
        MUST(LAPI_Waitcntr(hndl, &org, 1, NULL));
        memset(source, 0, sizeof source); /* It is ours again. */
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    MUST(LAPI_Gfence(hndl));
    if (task % 2)
        printf("task %d has %d %d %d %d %d\n", task, sink[0], sink[3], sink[6], sink[9], sink[12]);
    end_sample();
    return 0;
}
