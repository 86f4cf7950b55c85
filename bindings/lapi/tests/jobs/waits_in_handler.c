/* A header handler may not wait: each such call is refused at once, and the message goes its way. */
//= LAPI Guide, LAPI_Amsend, the header handler
//= type=test
#include "../programs/check.h"

static lapi_cntr_t done, never;
static volatile int refused;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completed, void **info)
{
    void *table[2];
    (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Fence(*h));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Gfence(*h));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Waitcntr(*h, &never, 1, NULL));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Nopoll_wait(*h, &never, 1, NULL));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Address_init(*h, table, table));
    GIVES(LAPI_ERR_UNKNOWN, LAPI_Term(*h));
    refused++;
    *completed = NULL;
    return NULL;
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &done, 0));
    OK(LAPI_Setcntr(hndl, &never, 0));
    OK(LAPI_Addr_set(hndl, (void *)header, 1));
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        OK(LAPI_Amsend(hndl, 1, (void *)1, NULL, 0, NULL, 0, NULL, NULL, &done));
        OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
    }
    OK(LAPI_Gfence(hndl));
    CHECK(refused == me);
    finish();
    return 0;
}
