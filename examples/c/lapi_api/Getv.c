/* LAPI_Getv: two pieces of the buddy's memory come here. */
#include "../sample.h"

static int boxes[4];

int main(void)
{
    lapi_cntr_t org;
    begin_sample();
    for (int i = 0; i < 4; i++)
        boxes[i] = 10 * task + i;
    MUST(LAPI_Setcntr(hndl, &org, 0));
    void **far = addresses_of(boxes);
    if (task % 2 == 0) {
        int values[2] = {0, 0};
        ulong lengths[2] = {sizeof(int), sizeof(int)};
        void *to[2] = {&values[0], &values[1]}, *from[2] = {(int *)far[buddy] + 3, (int *)far[buddy] + 1};
        lapi_vec_t origin = {LAPI_GEN_IOVECTOR, 2, to, lengths}, target = {LAPI_GEN_IOVECTOR, 2, from, lengths};
        MUST(LAPI_Getv(hndl, buddy, &target, &origin, NULL, &org));
        MUST(LAPI_Waitcntr(hndl, &org, 1, NULL));
        printf("task %d fetched %d and %d\n", task, values[0], values[1]);
    }
    end_sample();
    return 0;
}
