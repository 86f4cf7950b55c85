/* A block of a matrix goes to the same place of the buddy's matrix: one strided put. */
#include "../sample.h"

#define ROWS 6
#define COLUMNS 8

static char matrix[ROWS][COLUMNS + 1];

int main(void)
{
    lapi_cntr_t cmpl;
    begin_sample();
    for (int row = 0; row < ROWS; row++)
        memset(matrix[row], task % 2 ? '.' : '#', COLUMNS);
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    void **far = addresses_of(matrix);
    if (task % 2 == 0) {
        /* Rows 1 to 4, columns 2 to 6: base address, bytes of a block, distance of the blocks. */
        void *from[3] = {&matrix[1][2], (void *)5, (void *)sizeof matrix[0]};
        void *to[3] = {(char *)far[buddy] + sizeof matrix[0] + 2, (void *)5, (void *)sizeof matrix[0]};
        lapi_vec_t origin = {LAPI_STRIDED_VECTOR, 4, from, NULL}, target = {LAPI_STRIDED_VECTOR, 4, to, NULL};
        MUST(LAPI_Putv(hndl, buddy, &target, &origin, NULL, NULL, &cmpl));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    MUST(LAPI_Gfence(hndl));
    if (task == 1)
        for (int row = 0; row < ROWS; row++)
            puts(matrix[row]);
    end_sample();
    return 0;
}
