/*
 * The offsets that follow from tables 15 to 31 of the LAPI Guide, for 64 and 32 bits, written down by hand: a check of the
 * list in bindings/lapi/api that doesn't depend on it. Only compiled.
 */
#include <lapi.h>
#include <stddef.h>

#ifdef __LP64__
#define PICK(wide, narrow) (wide)
#else
#define PICK(wide, narrow) (narrow)
#endif
#define SIZE(type, wide, narrow) _Static_assert(sizeof(type) == PICK(wide, narrow), "size of " #type)
#define AT(type, field, wide, narrow) _Static_assert(offsetof(type, field) == PICK(wide, narrow), #type "." #field)

/* lapi_am_t (table 24) */
AT(lapi_am_t, Xfer_type, 0, 0);
AT(lapi_am_t, flags, 4, 4);
AT(lapi_am_t, tgt, 8, 8);
AT(lapi_am_t, hdr_hdl, 16, 16);
AT(lapi_am_t, uhdr_len, 24, 24);
AT(lapi_am_t, uhdr, 32, 28);
AT(lapi_am_t, udata, 40, 32);
AT(lapi_am_t, udata_len, 48, 36);
AT(lapi_am_t, shdlr, 56, 40);
AT(lapi_am_t, sinfo, 64, 44);
AT(lapi_am_t, tgt_cntr, 72, 48);
AT(lapi_am_t, org_cntr, 80, 56);
AT(lapi_am_t, cmpl_cntr, 88, 60);
SIZE(lapi_am_t, 96, 64);

/* lapi_amv_t (table 25) */
AT(lapi_amv_t, Xfer_type, 0, 0);
AT(lapi_amv_t, flags, 4, 4);
AT(lapi_amv_t, tgt, 8, 8);
AT(lapi_amv_t, hdr_hdl, 16, 16);
AT(lapi_amv_t, uhdr_len, 24, 24);
AT(lapi_amv_t, uhdr, 32, 28);
AT(lapi_amv_t, shdlr, 40, 32);
AT(lapi_amv_t, sinfo, 48, 36);
AT(lapi_amv_t, org_vec, 56, 40);
AT(lapi_amv_t, tgt_cntr, 64, 48);
AT(lapi_amv_t, org_cntr, 72, 56);
AT(lapi_amv_t, cmpl_cntr, 80, 60);
SIZE(lapi_amv_t, 88, 64);

/* lapi_amdgsp_t (table 26) */
AT(lapi_amdgsp_t, Xfer_type, 0, 0);
AT(lapi_amdgsp_t, flags, 4, 4);
AT(lapi_amdgsp_t, tgt, 8, 8);
AT(lapi_amdgsp_t, hdr_hdl, 16, 16);
AT(lapi_amdgsp_t, uhdr_len, 24, 24);
AT(lapi_amdgsp_t, uhdr, 32, 28);
AT(lapi_amdgsp_t, udata, 40, 32);
AT(lapi_amdgsp_t, udata_len, 48, 36);
AT(lapi_amdgsp_t, shdlr, 56, 40);
AT(lapi_amdgsp_t, sinfo, 64, 44);
AT(lapi_amdgsp_t, tgt_cntr, 72, 48);
AT(lapi_amdgsp_t, org_cntr, 80, 56);
AT(lapi_amdgsp_t, cmpl_cntr, 88, 60);
AT(lapi_amdgsp_t, dgsp, 96, 64);
AT(lapi_amdgsp_t, status, 104, 68);
SIZE(lapi_amdgsp_t, 112, 72);

/* lapi_get_t (table 27) */
AT(lapi_get_t, Xfer_type, 0, 0);
AT(lapi_get_t, flags, 4, 4);
AT(lapi_get_t, tgt, 8, 8);
AT(lapi_get_t, tgt_addr, 16, 16);
AT(lapi_get_t, org_addr, 24, 24);
AT(lapi_get_t, len, 32, 28);
AT(lapi_get_t, tgt_cntr, 40, 32);
AT(lapi_get_t, org_cntr, 48, 40);
AT(lapi_get_t, chndlr, 56, 44);
AT(lapi_get_t, cinfo, 64, 48);
SIZE(lapi_get_t, 72, 56);

/* lapi_getv_t (table 28) */
AT(lapi_getv_t, Xfer_type, 0, 0);
AT(lapi_getv_t, flags, 4, 4);
AT(lapi_getv_t, tgt, 8, 8);
AT(lapi_getv_t, org_vec, 16, 12);
AT(lapi_getv_t, tgt_vec, 24, 16);
AT(lapi_getv_t, tgt_cntr, 32, 24);
AT(lapi_getv_t, org_cntr, 40, 32);
AT(lapi_getv_t, chndlr, 48, 36);
AT(lapi_getv_t, cinfo, 56, 40);
SIZE(lapi_getv_t, 64, 48);

/* lapi_put_t (table 29) */
AT(lapi_put_t, Xfer_type, 0, 0);
AT(lapi_put_t, flags, 4, 4);
AT(lapi_put_t, tgt, 8, 8);
AT(lapi_put_t, tgt_addr, 16, 16);
AT(lapi_put_t, org_addr, 24, 24);
AT(lapi_put_t, len, 32, 28);
AT(lapi_put_t, shdlr, 40, 32);
AT(lapi_put_t, sinfo, 48, 36);
AT(lapi_put_t, tgt_cntr, 56, 40);
AT(lapi_put_t, org_cntr, 64, 48);
AT(lapi_put_t, cmpl_cntr, 72, 52);
SIZE(lapi_put_t, 80, 56);

/* lapi_putv_t (table 30) */
AT(lapi_putv_t, Xfer_type, 0, 0);
AT(lapi_putv_t, flags, 4, 4);
AT(lapi_putv_t, tgt, 8, 8);
AT(lapi_putv_t, shdlr, 16, 12);
AT(lapi_putv_t, sinfo, 24, 16);
AT(lapi_putv_t, org_vec, 32, 20);
AT(lapi_putv_t, tgt_vec, 40, 24);
AT(lapi_putv_t, tgt_cntr, 48, 32);
AT(lapi_putv_t, org_cntr, 56, 40);
AT(lapi_putv_t, cmpl_cntr, 64, 44);
SIZE(lapi_putv_t, 72, 48);

/* lapi_rmw_t (table 31) */
AT(lapi_rmw_t, Xfer_type, 0, 0);
AT(lapi_rmw_t, op, 4, 4);
AT(lapi_rmw_t, tgt, 8, 8);
AT(lapi_rmw_t, size, 12, 12);
AT(lapi_rmw_t, tgt_var, 16, 16);
AT(lapi_rmw_t, in_val, 24, 24);
AT(lapi_rmw_t, prev_tgt_val, 32, 28);
AT(lapi_rmw_t, org_cntr, 40, 32);
AT(lapi_rmw_t, shdlr, 48, 36);
AT(lapi_rmw_t, sinfo, 56, 40);
SIZE(lapi_rmw_t, 64, 48);

/* lapi_reg_dgsp_t (table 15) */
AT(lapi_reg_dgsp_t, Util_type, 0, 0);
AT(lapi_reg_dgsp_t, idgsp, 8, 4);
AT(lapi_reg_dgsp_t, dgsp_handle, 16, 8);
AT(lapi_reg_dgsp_t, in_usr_func, 24, 12);
AT(lapi_reg_dgsp_t, status, 32, 16);
SIZE(lapi_reg_dgsp_t, 40, 20);

/* lapi_resv_dgsp_t (table 16) */
AT(lapi_resv_dgsp_t, Util_type, 0, 0);
AT(lapi_resv_dgsp_t, dgsp_handle, 8, 4);
AT(lapi_resv_dgsp_t, in_usr_func, 16, 8);
AT(lapi_resv_dgsp_t, status, 24, 12);
SIZE(lapi_resv_dgsp_t, 32, 16);

/* lapi_dref_dgsp_t (table 17) */
AT(lapi_dref_dgsp_t, Util_type, 0, 0);
AT(lapi_dref_dgsp_t, dgsp_handle, 8, 4);
AT(lapi_dref_dgsp_t, in_usr_func, 16, 8);
AT(lapi_dref_dgsp_t, status, 24, 12);
SIZE(lapi_dref_dgsp_t, 32, 16);

/* lapi_reg_ddm_t (table 18) */
AT(lapi_reg_ddm_t, Util_type, 0, 0);
AT(lapi_reg_ddm_t, ddm_func, 8, 4);
AT(lapi_reg_ddm_t, in_usr_func, 16, 8);
AT(lapi_reg_ddm_t, status, 24, 12);
SIZE(lapi_reg_ddm_t, 32, 16);

/* lapi_pack_dgsp_t (table 19) */
AT(lapi_pack_dgsp_t, Util_type, 0, 0);
AT(lapi_pack_dgsp_t, dgsp_handle, 8, 4);
AT(lapi_pack_dgsp_t, in_buf, 16, 8);
AT(lapi_pack_dgsp_t, bytes, 24, 12);
AT(lapi_pack_dgsp_t, out_buf, 32, 16);
AT(lapi_pack_dgsp_t, out_size, 40, 20);
AT(lapi_pack_dgsp_t, position, 48, 24);
AT(lapi_pack_dgsp_t, in_usr_func, 56, 28);
AT(lapi_pack_dgsp_t, status, 64, 32);
SIZE(lapi_pack_dgsp_t, 72, 36);

/* lapi_unpack_dgsp_t (table 20) */
AT(lapi_unpack_dgsp_t, Util_type, 0, 0);
AT(lapi_unpack_dgsp_t, dgsp_handle, 8, 4);
AT(lapi_unpack_dgsp_t, buf, 16, 8);
AT(lapi_unpack_dgsp_t, in_size, 24, 12);
AT(lapi_unpack_dgsp_t, out_buf, 32, 16);
AT(lapi_unpack_dgsp_t, bytes, 40, 20);
AT(lapi_unpack_dgsp_t, out_size, 48, 24);
AT(lapi_unpack_dgsp_t, position, 56, 28);
AT(lapi_unpack_dgsp_t, in_usr_func, 64, 32);
AT(lapi_unpack_dgsp_t, status, 72, 36);
SIZE(lapi_unpack_dgsp_t, 80, 40);

/* lapi_add_udp_port_t (table 21) */
AT(lapi_add_udp_port_t, Util_type, 0, 0);
AT(lapi_add_udp_port_t, tgt, 4, 4);
AT(lapi_add_udp_port_t, udp_port, 8, 8);
AT(lapi_add_udp_port_t, instance_no, 16, 12);
AT(lapi_add_udp_port_t, in_usr_func, 24, 16);
AT(lapi_add_udp_port_t, status, 32, 20);
SIZE(lapi_add_udp_port_t, 40, 24);

/* lapi_vec_t */
AT(lapi_vec_t, vec_type, 0, 0);
AT(lapi_vec_t, num_vecs, 4, 4);
AT(lapi_vec_t, info, 8, 8);
AT(lapi_vec_t, len, 16, 12);
SIZE(lapi_vec_t, 24, 16);
