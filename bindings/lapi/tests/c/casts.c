/*
 * What LAPI programs do with types: handlers of different signatures cast to one another, `void *` used for addresses of
 * all kinds, command structures cast to their unions. Only compiled.
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lapi_cntr_t compl_cntr; /* never initialized */
static lapi_cntr_t counters[4];
static char err_msg_buf[LAPI_MAX_ERR_STRING];
static int data_buffer[10];

void compl_hndlr(lapi_handle_t *hndl, void *completion_param)
{
    printf("%d\n", data_buffer[0]);
}

/* As before the enhanced header handler. */
void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp_h,
                     void **info)
{
    lapi_return_info_t *ret_info = (lapi_return_info_t *)msg_len;

    ret_info->ret_flags = LAPI_SEND_REPLY;
    ret_info->ctl_flags = LAPI_BURY_MSG;
    *comp_h = compl_hndlr;
    *info = NULL;
    return ret_info->udata_one_pkt_ptr != NULL ? NULL : data_buffer;
}

/* As with it. */
void *enhanced_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, lapi_return_info_t *ret_info,
                       compl_hndlr_t **comp_h, void **info)
{
    *comp_h = (compl_hndlr_t *)compl_hndlr;
    return ret_info->msg_len ? data_buffer : NULL;
}

lapi_vec_t *vector_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                           compl_hndlr_t **comp_h, void **user_info)
{
    static lapi_vec_t vec;

    vec.vec_type = LAPI_STRIDED_VECTOR;
    vec.num_vecs = 3;
    vec.info = malloc(3 * sizeof(void *));
    vec.info[0] = data_buffer;
    vec.info[1] = (void *)16L;
    vec.info[2] = (void *)32L;
    return &vec;
}

void send_compl_hndlr(lapi_handle_t *hndl, void *completion_param, lapi_sh_info_t *info)
{
    printf("%u %u\n", info->src, info->reason);
}

void my_err_hndlr(lapi_handle_t *hndl, int *error_code, lapi_err_t *err_type, int *task_id, int *src)
{
    LAPI_Msg_string(*error_code, err_msg_buf);
    LAPI_Term(*hndl);
}

int my_udp_hndlr(lapi_handle_t *hndl, lapi_udp_t *local_addr, lapi_udp_t *addr_list, lapi_udpinfo_t *info)
{
    addr_list[0].ip_addr = local_addr->ip_addr;
    addr_list[0].port_no = local_addr->port_no;
    return 0;
}

long my_ddm(void *in, void *inout, long bytes, int operand, int operation)
{
    return bytes;
}

int main(void)
{
    lapi_handle_t hndl;
    lapi_info_t info;
    lapi_extend_t extend_info;
    lapi_xfer_t xfer;
    lapi_reg_dgsp_t reg;
    lapi_reg_ddm_t ddm;
    lapi_statistics_t stats;
    hdr_hndlr_t *declared_as_pointer = header_handler;
    vhdr_hndlr_t *vector_pointer = vector_handler;
    void **addresses;
    int task_id, num_tasks, val, operands[2] = {0, 1}, previous;
    int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
    lapi_dgsm_copy_t *copy = (lapi_dgsm_copy_t *)&code[0];
    lapi_dgsm_iterate_t *iterate = (lapi_dgsm_iterate_t *)&code[LAPI_DGSM_COPY_SIZE];
    lapi_dgsp_descr_t dgsp, *registered;

    bzero(&info, sizeof(lapi_info_t));
    bzero(&extend_info, sizeof(lapi_extend_t));
    info.lib_vers = LAST_LIB;
    info.err_hndlr = (LAPI_err_hndlr)my_err_hndlr;
    info.err_hndlr = (LAPI_err_hndlr *)my_err_hndlr;
    info.err_hndlr = my_err_hndlr;
    extend_info.udp_hndlr = (udp_init_hndlr *)my_udp_hndlr;
    extend_info.add_udp_addrs = malloc(2 * sizeof(lapi_udp_t));
    extend_info.num_udp_addr = 2;
    info.add_info = &extend_info;
    LAPI_Init(&hndl, &info);
    LAPI_Qenv(hndl, TASK_ID, &task_id);
    LAPI_Qenv(hndl, NUM_TASKS, &num_tasks);
    LAPI_Qenv(hndl, QUERY_STATISTICS, (int *)&stats);

    addresses = (void **)malloc(num_tasks * (sizeof(void *)));
    LAPI_Address_init(hndl, (void *)header_handler, addresses);
    LAPI_Address_init(hndl, &compl_cntr, addresses);
    LAPI_Addr_set(hndl, (void *)enhanced_handler, 1);
    LAPI_Amsend(hndl, 1, addresses[1], NULL, 0, &(data_buffer[0]), 10 * (sizeof(int)), NULL, NULL, &compl_cntr);
    LAPI_Amsend(hndl, 1, (void *)1L, NULL, 0, data_buffer, 40, addresses[1], &counters[0], NULL);
    LAPI_Put(hndl, 1, 40, addresses[1], (void *)data_buffer, addresses[0], &counters[1], &counters[2]);
    LAPI_Rmw(hndl, COMPARE_AND_SWAP, 1, addresses[1], operands, &previous, &counters[3]);
    LAPI_Waitcntr(hndl, &compl_cntr, 1, &val);
    LAPI_Waitcntr(hndl, &compl_cntr, 1, NULL);

    memset(&xfer, 0, sizeof xfer);
    xfer.Am.Xfer_type = LAPI_AM_XFER;
    xfer.Am.hdr_hdl = (lapi_long_t)addresses[1];
    xfer.Am.hdr_hdl = (lapi_long_t)declared_as_pointer;
    xfer.Amv.hdr_hdl = (lapi_long_t)vector_pointer;
    xfer.Am.shdlr = (scompl_hndlr_t *)send_compl_hndlr;
    xfer.Am.sinfo = (void *)data_buffer;
    xfer.Get.chndlr = compl_hndlr;
    xfer.Dgsp.flags = LAPI_USE_BULK_XFER | BUFFER_BOTH_CONTIGUOUS;
    xfer.Rmw.op = FETCH_AND_ADD;
    LAPI_Xfer(hndl, &xfer);

    copy->opcode = LAPI_DGSM_COPY;
    copy->bytes = (long)4;
    copy->offset = (long)0;
    iterate->opcode = LAPI_DGSM_ITERATE;
    iterate->iter_loc = -LAPI_DGSM_COPY_SIZE;
    dgsp.code = &code[0];
    dgsp.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
    dgsp.density = LAPI_DGSM_SPARSE;
    dgsp.lext = dgsp.rext = dgsp.atom_size = dgsp.depth = 0;
    reg.Util_type = LAPI_REGISTER_DGSP;
    reg.idgsp = &dgsp;
    LAPI_Util(hndl, (lapi_util_t *)&reg);
    registered = (lapi_dgsp_descr_t *)reg.dgsp_handle;
    xfer.Dgsp.dgsp = reg.dgsp_handle;
    ddm.Util_type = LAPI_REG_DDM_FUNC;
    ddm.ddm_func = (ddm_func_t *)my_ddm;
    LAPI_Util(hndl, (lapi_util_t *)&ddm);
    LAPI_Gfence(hndl);
    return registered != NULL;
}
