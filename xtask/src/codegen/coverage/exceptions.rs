//! Rows without a test, and why that is right.

/// Return codes that nothing here gives. Programs may compare with them, and LAPI_Msg_string knows
/// their texts.
pub(super) const NEVER_GIVEN: &[(&str, &str)] = &[
    ("LAPI_ERR_REG_TIMER", "no timer is registered: waits have deadlines"),
    ("LAPI_ERR_ADDR_TBL_NULL", "LAPI_Address_init gives LAPI_ERR_RET_PTR_NULL, as its own page says"),
    ("LAPI_ERR_RECV_INCOMP", "a message that stops arriving is told as the loss of its origin"),
    ("LAPI_ERR_SEND_TIMEOUT", "told as LAPI_ERR_TIMEOUT"),
    ("LAPI_ERR_CATALOG_FAIL", "the texts are part of the library"),
    ("LAPI_ERR_TGT_CONTEXT", REMOTE),
    ("LAPI_ERR_SRC_CONTEXT", REMOTE),
    ("LAPI_ERR_TGT_BUFHNDL", REMOTE),
    ("LAPI_ERR_SRC_BUFHNDL", REMOTE),
    ("LAPI_ERR_TGT_OFFSET", REMOTE),
    ("LAPI_ERR_SRC_OFFSET", REMOTE),
    ("LAPI_ERR_NO_RDMA_RESOURCE", REMOTE),
];

const REMOTE: &str = "no subroutine of the guide takes remote contexts and buffer handles";
