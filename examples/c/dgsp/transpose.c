/*
 * A matrix is transposed on its way: gathered column by column, stored in order. On the way back it is sent in order and
 * scattered into columns, which undoes it.
 */
#include "dgsp.h"

#define ROWS 4
#define COLUMNS 6

static int matrix[ROWS][COLUMNS], transposed[COLUMNS][ROWS], back[ROWS][COLUMNS];
static lapi_dg_handle_t columns;

static void *plain(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return transposed;
}

static void *into_columns(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapi_return_info_t *more = (lapi_return_info_t *)msg_len;
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    *done = NULL;
    more->dgsp_handle = columns;
    return back;
}

int main(void)
{
    lapi_cntr_t done;
    begin_sample();
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            matrix[r][c] = 10 * r + c;
    /* The template is one column; it moves on by one number. */
    columns = strided_dgsp(ROWS, sizeof(int), sizeof matrix[0], sizeof(int));
    void **plains = addresses_of((void *)plain), **scatters = addresses_of((void *)into_columns);
    MUST(LAPI_Setcntr(hndl, &done, 0));
    if (task % 2 == 0) {
        send_dgsp(buddy, plains[buddy], columns, matrix, sizeof matrix, NULL, 0, &done);
        MUST(LAPI_Waitcntr(hndl, &done, 1, NULL));
    }
    MUST(LAPI_Gfence(hndl));
    if (task == 1)
        for (int c = 0; c < COLUMNS; c++)
            printf("transposed row %d: %d %d %d %d\n", c, transposed[c][0], transposed[c][1], transposed[c][2],
                transposed[c][3]);
    if (task % 2) {
        MUST(LAPI_Amsend(hndl, buddy, scatters[buddy], NULL, 0, transposed, sizeof transposed, NULL, NULL, &done));
        MUST(LAPI_Waitcntr(hndl, &done, 1, NULL));
    }
    MUST(LAPI_Gfence(hndl));
    if (task == 0)
        puts(memcmp(matrix, back, sizeof matrix) ? "task 0: not what it was" : "task 0: back as it was");
    unreserve_dgsp(columns);
    end_sample();
    return 0;
}
