/* LAPI_Amsendv: three pieces there become three pieces here. */
#include "../sample.h"

static int source[3] = {1, 2, 3}, sink[8];
static void *from[3] = {&source[0], &source[1], &source[2]}, *to[3] = {&sink[1], &sink[3], &sink[6]};
static ulong lengths[3] = {sizeof(int), sizeof(int), sizeof(int)};
static lapi_vec_t source_vec = {LAPI_GEN_IOVECTOR, 3, from, lengths}, sink_vec = {LAPI_GEN_IOVECTOR, 3, to, lengths};

static void completed(lapi_handle_t *h, void *unused)
{
    (void)h, (void)unused;
    printf("task %d received %d %d %d in their places\n", task, sink[1], sink[3], sink[6]);
}

static lapi_vec_t *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **lens, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)lens;
    *done = completed;
    *info = NULL;
    return &sink_vec;
}

int main(void)
{
    lapi_cntr_t cmpl;
    begin_sample();
    void **headers = addresses_of((void *)header);
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    MUST(LAPI_Gfence(hndl));
    if (task % 2 == 0) {
        MUST(LAPI_Amsendv(hndl, buddy, headers[buddy], NULL, 0, &source_vec, NULL, NULL, &cmpl));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    end_sample();
    return 0;
}
