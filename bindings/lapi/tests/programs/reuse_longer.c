/*
 * Whoever sets MP_REXMIT_BUF_SIZE has the buffers of messages up to that size back when the call returns, however the data would go
 * otherwise: puts to memory that peers reach by key, too.
 * tasks: 2
 * env: MP_REXMIT_BUF_SIZE=262144
 */
//= LAPI Guide, table 40, MP_REXMIT_BUF_SIZE and MP_REXMIT_BUF_CNT
//= type=test
#include "check.h"
#include <lapis.h>

#define MESSAGES 40
#define LEN 262144

static unsigned char *box, buffer[LEN];

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return box + (ulong)*(int *)uhdr * LEN;
}

int main(void)
{
    void **places, **headers;
    start();
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(lapis_alloc(hndl, (ulong)MESSAGES * LEN, (void **)&box));
    places = exchange(box);
    headers = exchange((void *)header);
    /* Only from the second one on is known by which key memory is reached. */
    for (int turn = 0; turn < 4; turn++) {
        ulong len = turn % 2 ? LEN - sizeof turn : LEN;
        memset(box, 0, (ulong)MESSAGES * LEN);
        OK(LAPI_Gfence(hndl));
        for (int i = 0; me == 0 && i < MESSAGES; i++) {
            memset(buffer, i + 1, LEN);
            if (turn % 2)
                OK(LAPI_Amsend(hndl, 1, headers[1], &i, sizeof i, buffer, len, NULL, NULL, NULL));
            else
                OK(LAPI_Put(hndl, 1, len, (char *)places[1] + (ulong)i * LEN, buffer, NULL, NULL, NULL));
            memset(buffer, 0xee, LEN);
        }
        OK(LAPI_Gfence(hndl));
        for (int i = 0; me == 1 && i < MESSAGES; i++)
            for (ulong at = 0; at < len; at++)
                CHECK(box[(ulong)i * LEN + at] == i + 1);
    }
    OK(lapis_free(hndl, box));
    finish();
    return 0;
}
