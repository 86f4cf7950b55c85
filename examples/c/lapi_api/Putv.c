/* LAPI_Putv: two pieces go to two places at the buddy; target and completion counters count once for the whole. */
#include "../sample.h"

static int boxes[4];
static lapi_cntr_t tgt, cmpl;

int main(void)
{
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &tgt, 0));
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    void **far = addresses_of(boxes), **counters = addresses_of(&tgt);
    if (task % 2 == 0) {
        int values[2] = {7, 9};
        ulong lengths[2] = {sizeof(int), sizeof(int)};
        void *from[2] = {&values[1], &values[0]}, *to[2] = {(int *)far[buddy], (int *)far[buddy] + 3};
        lapi_vec_t origin = {LAPI_GEN_IOVECTOR, 2, from, lengths}, target = {LAPI_GEN_IOVECTOR, 2, to, lengths};
        MUST(LAPI_Putv(hndl, buddy, &target, &origin, counters[buddy], NULL, &cmpl));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    } else {
        MUST(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        printf("task %d has %d %d %d %d\n", task, boxes[0], boxes[1], boxes[2], boxes[3]);
    }
    end_sample();
    return 0;
}
