/* LAPI_Amsend: the even task sends, the odd one's handlers take it. The completion counter says when they are through. */
//= LAPI Guide, table 32, completion handler
//= LAPI Guide, table 32, completion counter
//= type=test
#include "../sample.h"

static int data[4];

static void completed(lapi_handle_t *h, void *unused)
{
    (void)h, (void)unused;
    printf("task %d received %d %d %d %d\n", task, data[0], data[1], data[2], data[3]);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
    *done = completed;
    *info = NULL;
    return data;
}

int main(void)
{
    lapi_cntr_t cmpl;
    begin_sample();
    void **headers = addresses_of((void *)header);
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    MUST(LAPI_Gfence(hndl));
    if (task % 2 == 0) {
        for (int i = 0; i < 4; i++)
            data[i] = 10 * buddy + i;
        MUST(LAPI_Amsend(hndl, buddy, headers[buddy], NULL, 0, data, sizeof data, NULL, NULL, &cmpl));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    end_sample();
    return 0;
}
