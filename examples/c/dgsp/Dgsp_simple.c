/*
 * Every other byte: a DGSP of one COPY gathers them, the target stores what comes one after the other.
 */
#include "dgsp.h"

static char secret[] = "hgeololdo   wdoaryl!d?";
static char received[16];

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return received; /* No DGSP: the bytes come as they were gathered. */
}

int main(void)
{
    lapi_cntr_t done;
    begin_sample();
    void **headers = addresses_of((void *)header);
    MUST(LAPI_Setcntr(hndl, &done, 0));
    if (task % 2 == 0) {
        /* One byte out of two, eleven times: the template moves on by its extent. */
        int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
        lapi_dgsm_copy_t *copy = (lapi_dgsm_copy_t *)code;
        copy->opcode = LAPI_DGSM_COPY;
        copy->bytes = 1;
        copy->offset = 0;
        lapi_dgsm_iterate_t *iterate = (lapi_dgsm_iterate_t *)&code[LAPI_DGSM_COPY_SIZE];
        iterate->opcode = LAPI_DGSM_ITERATE;
        iterate->iter_loc = -LAPI_DGSM_COPY_SIZE;
        lapi_dgsp_descr_t descr = describe(code, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE, 1, 1, 2, 1);
        descr.density = LAPI_DGSM_CONTIG;
        lapi_dg_handle_t every_other = register_dgsp(&descr);

        /* Packing is the same without a message. */
        char packed[16] = "";
        lapi_pack_dgsp_t pack;
        memset(&pack, 0, sizeof pack);
        pack.Util_type = LAPI_DGSP_PACK;
        pack.dgsp_handle = every_other;
        pack.in_buf = secret + 1;
        pack.bytes = 11;
        pack.out_buf = packed;
        pack.out_size = sizeof packed;
        MUST(LAPI_Util(hndl, (lapi_util_t *)&pack));
        printf("the other half: %s, position %lu\n", packed, pack.position);

        send_dgsp(buddy, headers[buddy], every_other, secret, 11, NULL, 0, &done);
        unreserve_dgsp(every_other);
        MUST(LAPI_Waitcntr(hndl, &done, 1, NULL));
    }
    MUST(LAPI_Gfence(hndl));
    if (task % 2)
        printf("received: %s\n", received);
    end_sample();
    return 0;
}
