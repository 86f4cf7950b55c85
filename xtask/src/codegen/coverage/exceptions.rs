//! Rows without a test, and why that is right, or who brings the test.

/// Return codes that nothing here gives. Programs may compare with them, and LAPI_Msg_string knows their texts.
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

/// Rows whose tests come with data gather/scatter programs. An entry whose row has a test is no mistake until they are here.
pub(super) const WITH_DGSPS: &[&str] = &[
    "LAPI_ERR_DGSP",
    "LAPI_ERR_DGSP_ATOM",
    "LAPI_ERR_DGSP_BRANCH",
    "LAPI_ERR_DGSP_CTL",
    "LAPI_ERR_DGSP_COPY_SZ",
    "LAPI_ERR_DGSP_FREE",
    "LAPI_ERR_DGSP_OPC",
    "LAPI_ERR_DGSP_OTHER",
    "LAPI_ERR_DGSP_REPS",
    "LAPI_ERR_DGSP_STACK",
    "LAPI_ERR_PACK_SZ",
    "LAPI_VERIFY_DGSP",
    "LAPI_DGSP_XFER",
    "LAPI_UNRESERVE_DGSP",
    "LAPI_RESERVE_DGSP",
    "LAPI_DGSP_PACK",
    "LAPI_DGSP_UNPACK",
    "LAPI_Util, hndl is not checked for the commands that register and reserve",
];
