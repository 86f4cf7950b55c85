//! The one table of LAPI codes: number, name and sentence.
//!
//! Everything that needs a code reads it here: `LAPI_Msg_string`, the constants of `lapi.h` and
//! `lapif.h` (through `cargo xtask codegen`), the documentation, and
//! [`Error::code`](crate::error::Error::code).

/// A code of LAPI Guide, appendix C: success, an error, or an attention message.
///
/// ```
/// use lapis_core::error::LapiCode;
/// assert_eq!(LapiCode::ERR_TGT.value(), 428);
/// assert_eq!(LapiCode::from_i32(428).unwrap().name(), "LAPI_ERR_TGT");
/// assert!(LapiCode::from_i32(7).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LapiCode(i32);

/// What a code announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// The call did what it was asked to.
    Success,
    /// Something worth knowing that ends nothing.
    Attention,
    /// The call or the communication failed.
    Error,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The code itself.
    pub code: LapiCode,
    /// The name that C and Fortran programs use, such as `LAPI_ERR_TGT`. Attention messages have no
    /// name in the guide; theirs begin with `LAPI_ATTN_` and are ours.
    pub name: &'static str,
    /// One sentence that says what happened.
    pub text: &'static str,
    /// Success, attention or error.
    pub severity: Severity,
}

macro_rules! severity {
    (OK) => {
        Severity::Success
    };
    (ATTN) => {
        Severity::Attention
    };
    (ERR) => {
        Severity::Error
    };
}

macro_rules! codes {
    ($(#[$doc:meta])* $table:ident: $($kind:ident $value:literal $konst:ident $name:literal $text:literal;)*) => {
        impl LapiCode {
            $(#[doc = $text] pub const $konst: Self = Self($value);)*
        }

        $(#[$doc])*
        pub const $table: &[CodeEntry] = &[
            $(CodeEntry { code: LapiCode::$konst, name: $name, text: $text, severity: severity!($kind) },)*
        ];
    };
}

// LAPI Guide, tables 33 to 36. Where the tables contradict each other: 498 is the error
// NO_RDMA_RESOURCE and 499 the attention message that bulk transfer is on; CODE_UNKNOWN is 511.
codes! {
    /// Every code of the guide, in ascending order.
    CODES:
    OK   0   SUCCESS                      "LAPI_SUCCESS"                      "The call completed successfully.";
    ERR  400 ERR_UNKNOWN                  "LAPI_ERR_UNKNOWN"                  "An internal communication error occurred outside of any call.";
    ERR  401 ERR_ALL_HNDL_IN_USE          "LAPI_ERR_ALL_HNDL_IN_USE"          "Every LAPI instance that a task may have is already in use.";
    ERR  402 ERR_BOTH_NETSTR_SET          "LAPI_ERR_BOTH_NETSTR_SET"          "Both an IP and a user-space network statement are set for one LAPI instance.";
    ERR  404 ERR_CSS_LOAD_FAILED          "LAPI_ERR_CSS_LOAD_FAILED"          "The library or plugin that carries the communication could not be loaded.";
    ERR  405 ERR_INFO_NULL                "LAPI_ERR_INFO_NULL"                "The pointer to the lapi_info_t structure is NULL.";
    ERR  406 ERR_MSG_API                  "LAPI_ERR_MSG_API"                  "The environment variable MP_MSG_API has a value that LAPI does not know.";
    ERR  407 ERR_NO_NETSTR_SET            "LAPI_ERR_NO_NETSTR_SET"            "No network statement is set, or MP_MSG_API does not provide for LAPI.";
    ERR  408 ERR_NO_UDP_HNDLR             "LAPI_ERR_NO_UDP_HNDLR"             "A user-defined UDP handler was announced, but neither a handler nor a list of addresses was given.";
    ERR  409 ERR_HDR_HNDLR_NULL           "LAPI_ERR_HDR_HNDLR_NULL"           "An active message arrived whose header handler is NULL.";
    ERR  410 ERR_PSS_NON_ROOT             "LAPI_ERR_PSS_NON_ROOT"             "Only root may initialize the persistent subsystem.";
    ERR  412 ERR_SHM_KE_NOT_LOADED        "LAPI_ERR_SHM_KE_NOT_LOADED"        "The system support that shared memory needs is not available.";
    ERR  413 ERR_TIMEOUT                  "LAPI_ERR_TIMEOUT"                  "A task did not acknowledge packets within the timeout.";
    ERR  414 ERR_REG_TIMER                "LAPI_ERR_REG_TIMER"                "The timer could not be armed again.";
    ERR  415 ERR_UDP_PKT_SZ               "LAPI_ERR_UDP_PKT_SZ"               "The UDP packet size is outside its range.";
    ERR  416 ERR_USER_UDP_HNDLR_FAIL      "LAPI_ERR_USER_UDP_HNDLR_FAIL"      "The user-defined UDP handler reported a failure.";
    ERR  417 ERR_HNDL_INVALID             "LAPI_ERR_HNDL_INVALID"             "The handle is not one of an initialized LAPI instance.";
    ERR  418 ERR_RET_PTR_NULL             "LAPI_ERR_RET_PTR_NULL"             "The pointer to where the result belongs is NULL.";
    ERR  419 ERR_ADDR_HNDL_RANGE          "LAPI_ERR_ADDR_HNDL_RANGE"          "The index into the address table is out of range.";
    ERR  420 ERR_ADDR_TBL_NULL            "LAPI_ERR_ADDR_TBL_NULL"            "The pointer to the table that receives the addresses is NULL.";
    ERR  421 ERR_TGT_PURGED               "LAPI_ERR_TGT_PURGED"               "The target task has been purged.";
    ERR  422 ERR_MULTIPLE_WAITERS         "LAPI_ERR_MULTIPLE_WAITERS"         "Another thread is already waiting for this counter.";
    ERR  423 ERR_MEMORY_EXHAUSTED         "LAPI_ERR_MEMORY_EXHAUSTED"         "LAPI could not allocate the memory it needs.";
    ERR  424 ERR_INFO_NONZERO             "LAPI_ERR_INFO_NONZERO"             "Reserved fields of the lapi_info_t structure are not zero.";
    ERR  425 ERR_ORG_ADDR_NULL            "LAPI_ERR_ORG_ADDR_NULL"            "The address of the data at the origin is NULL.";
    ERR  426 ERR_TGT_ADDR_NULL            "LAPI_ERR_TGT_ADDR_NULL"            "The address of the data at the target is NULL.";
    ERR  427 ERR_DATA_LEN                 "LAPI_ERR_DATA_LEN"                 "The data length exceeds the largest message that LAPI transfers.";
    ERR  428 ERR_TGT                      "LAPI_ERR_TGT"                      "The target is not a task of this job.";
    ERR  429 ERR_UHDR_NULL                "LAPI_ERR_UHDR_NULL"                "The user header is NULL although its length is greater than 0.";
    ERR  430 ERR_UHDR_LEN                 "LAPI_ERR_UHDR_LEN"                 "The user header is longer than MAX_UHDR_SZ.";
    ERR  431 ERR_HDR_LEN                  "LAPI_ERR_HDR_LEN"                  "The length of the user header is not aligned.";
    ERR  432 ERR_ORG_EXTENT               "LAPI_ERR_ORG_EXTENT"               "The vector at the origin spans more than the largest message.";
    ERR  433 ERR_ORG_STRIDE               "LAPI_ERR_ORG_STRIDE"               "The stride of the vector at the origin is smaller than its block.";
    ERR  434 ERR_NO_CONNECTIVITY          "LAPI_ERR_NO_CONNECTIVITY"          "No path leads to the task.";
    ERR  435 ERR_ADAPTERS_DOWN            "LAPI_ERR_ADAPTERS_DOWN"            "All network adapters are down.";
    ERR  436 ERR_RECV_INCOMP              "LAPI_ERR_RECV_INCOMP"              "A receive operation did not complete.";
    ERR  437 ERR_SEND_INCOMP              "LAPI_ERR_SEND_INCOMP"              "A send operation did not complete.";
    ERR  438 ERR_SEND_TIMEOUT             "LAPI_ERR_SEND_TIMEOUT"             "A send operation did not complete within the timeout.";
    ERR  439 ERR_SHM_SETUP                "LAPI_ERR_SHM_SETUP"                "Shared memory could not be set up.";
    ERR  440 ERR_ORG_VEC_ADDR             "LAPI_ERR_ORG_VEC_ADDR"             "An address in the vector at the origin is NULL although its length is greater than 0.";
    ERR  441 ERR_ORG_VEC_LEN              "LAPI_ERR_ORG_VEC_LEN"              "The vector at the origin describes more data than the largest message.";
    ERR  442 ERR_ORG_VEC_NULL             "LAPI_ERR_ORG_VEC_NULL"             "The pointer to the vector at the origin is NULL.";
    ERR  443 ERR_ORG_VEC_TYPE             "LAPI_ERR_ORG_VEC_TYPE"             "The type of the vector at the origin is not valid.";
    ERR  444 ERR_STRIDE_ORG_VEC_ADDR_NULL "LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL" "The base address of the strided vector at the origin is NULL.";
    ERR  445 ERR_STRIDE_TGT_VEC_ADDR_NULL "LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL" "The base address of the strided vector at the target is NULL.";
    ERR  446 ERR_TGT_EXTENT               "LAPI_ERR_TGT_EXTENT"               "The vector at the target spans more than the largest message.";
    ERR  447 ERR_TGT_STRIDE               "LAPI_ERR_TGT_STRIDE"               "The stride of the vector at the target is smaller than its block.";
    ERR  448 ERR_TGT_VEC_ADDR             "LAPI_ERR_TGT_VEC_ADDR"             "An address in the vector at the target is NULL although its length is greater than 0.";
    ERR  449 ERR_TGT_VEC_LEN              "LAPI_ERR_TGT_VEC_LEN"              "The vector at the target describes more data than the largest message.";
    ERR  451 ERR_TGT_VEC_NULL             "LAPI_ERR_TGT_VEC_NULL"             "The pointer to the vector at the target is NULL.";
    ERR  452 ERR_TGT_VEC_TYPE             "LAPI_ERR_TGT_VEC_TYPE"             "The type of the vector at the target is not valid.";
    ERR  453 ERR_VEC_NUM_DIFF             "LAPI_ERR_VEC_NUM_DIFF"             "The vectors at origin and target differ in their number of elements.";
    ERR  454 ERR_VEC_TYPE_DIFF            "LAPI_ERR_VEC_TYPE_DIFF"            "The vectors at origin and target differ in type.";
    ERR  455 ERR_VEC_LEN_DIFF             "LAPI_ERR_VEC_LEN_DIFF"             "The vectors at origin and target differ in the length of an element.";
    ERR  456 ERR_MSG_INFO_NULL            "LAPI_ERR_MSG_INFO_NULL"            "The info pointer given to LAPI_Msgpoll is NULL.";
    ERR  458 ERR_CNTR_NULL                "LAPI_ERR_CNTR_NULL"                "The pointer to the counter is NULL.";
    ERR  459 ERR_CNTR_VAL                 "LAPI_ERR_CNTR_VAL"                 "The counter value to wait for is not greater than 0.";
    ERR  460 ERR_QUERY_TYPE               "LAPI_ERR_QUERY_TYPE"               "The runtime attribute is not known or cannot be used with this call.";
    ERR  461 ERR_IN_VAL_NULL              "LAPI_ERR_IN_VAL_NULL"              "The pointer to the input value of the read-modify-write operation is NULL.";
    ERR  462 ERR_RMW_OP                   "LAPI_ERR_RMW_OP"                   "The read-modify-write operation is not one that LAPI knows.";
    ERR  463 ERR_TGT_VAR_NULL             "LAPI_ERR_TGT_VAR_NULL"             "The address of the variable of the read-modify-write operation is NULL.";
    ERR  464 ERR_SET_VAL                  "LAPI_ERR_SET_VAL"                  "The value is outside the range of what it sets.";
    ERR  465 ERR_DGSP                     "LAPI_ERR_DGSP"                     "The DGSP is NULL or not registered.";
    ERR  466 ERR_DGSP_ATOM                "LAPI_ERR_DGSP_ATOM"                "The atom size of the DGSP is not valid.";
    ERR  467 ERR_DGSP_BRANCH              "LAPI_ERR_DGSP_BRANCH"              "The DGSP branches to a place outside of its code.";
    ERR  468 ERR_DGSP_CTL                 "LAPI_ERR_DGSP_CTL"                 "A CONTROL instruction of the DGSP is malformed.";
    ERR  469 ERR_DGSP_COPY_SZ             "LAPI_ERR_DGSP_COPY_SZ"             "A copy length in the DGSP is not valid.";
    ERR  470 ERR_DGSP_FREE                "LAPI_ERR_DGSP_FREE"                "The DGSP cannot be freed: it is not reserved.";
    ERR  471 ERR_DGSP_OPC                 "LAPI_ERR_DGSP_OPC"                 "The DGSP contains an unknown instruction.";
    ERR  472 ERR_DGSP_REPS                "LAPI_ERR_DGSP_REPS"                "A repetition count in the DGSP is less than 0.";
    ERR  473 ERR_DGSP_STACK               "LAPI_ERR_DGSP_STACK"               "The DGSP needs a deeper stack than its depth declares.";
    ERR  474 ERR_OP_SZ                    "LAPI_ERR_OP_SZ"                    "The size of the read-modify-write transfer is neither 32 nor 64.";
    ERR  475 ERR_UDP_PORT_INFO            "LAPI_ERR_UDP_PORT_INFO"            "The pointer to the UDP port information is NULL.";
    ERR  476 ERR_XFER_CMD                 "LAPI_ERR_XFER_CMD"                 "The transfer type given to LAPI_Xfer is not known.";
    ERR  477 ERR_UTIL_CMD                 "LAPI_ERR_UTIL_CMD"                 "The command given to LAPI_Util is not known.";
    ERR  478 ERR_CATALOG_FAIL             "LAPI_ERR_CATALOG_FAIL"             "The message catalog could not be opened.";
    ERR  479 ERR_PACK_SZ                  "LAPI_ERR_PACK_SZ"                  "The buffer to pack into, or to unpack from, is too small.";
    ERR  480 ERR_DGSP_OTHER               "LAPI_ERR_DGSP_OTHER"               "The DGSP is malformed, for instance by an empty code.";
    ERR  481 ERR_UDP_SOCKET               "LAPI_ERR_UDP_SOCKET"               "An operation on a UDP socket failed.";
    ERR  482 ERR_COLLECTIVE_PSS           "LAPI_ERR_COLLECTIVE_PSS"           "The persistent subsystem may not make collective calls.";
    ATTN 485 ATTN_FAILOVER_INTERNAL       "LAPI_ATTN_FAILOVER_INTERNAL"       "Failover is not available: setting it up met an internal error.";
    ATTN 486 ATTN_FAILOVER_NO_NAM         "LAPI_ATTN_FAILOVER_NO_NAM"         "Failover is not available: nothing reports the state of the network adapters.";
    ATTN 487 ATTN_FAILOVER_NO_GROUP       "LAPI_ATTN_FAILOVER_NO_GROUP"       "Failover is not available: the group services are not installed.";
    ATTN 488 ATTN_FAILOVER_OLD_POE        "LAPI_ATTN_FAILOVER_OLD_POE"        "Failover is not available: the launcher is too old.";
    ATTN 489 ATTN_FAILOVER_NO_POE         "LAPI_ATTN_FAILOVER_NO_POE"         "Failover is not available: the job was not started by a launcher that supports it.";
    ATTN 490 ATTN_FAILOVER_DEVICE         "LAPI_ATTN_FAILOVER_DEVICE"         "Failover is not available: the job uses a network device without support for it.";
    ATTN 491 ATTN_FAILOVER_HALTED         "LAPI_ATTN_FAILOVER_HALTED"         "Failover has halted.";
    ERR  492 ERR_TGT_CONTEXT              "LAPI_ERR_TGT_CONTEXT"              "The remote context of the target is not valid.";
    ERR  493 ERR_SRC_CONTEXT              "LAPI_ERR_SRC_CONTEXT"              "The remote context of the source is not valid.";
    ERR  494 ERR_TGT_BUFHNDL              "LAPI_ERR_TGT_BUFHNDL"              "The buffer handle of the target is not valid.";
    ERR  495 ERR_SRC_BUFHNDL              "LAPI_ERR_SRC_BUFHNDL"              "The buffer handle of the source is not valid.";
    ERR  496 ERR_TGT_OFFSET               "LAPI_ERR_TGT_OFFSET"               "The offset into the target's buffer is not valid.";
    ERR  497 ERR_SRC_OFFSET               "LAPI_ERR_SRC_OFFSET"               "The offset into the source's buffer is not valid.";
    ERR  498 ERR_NO_RDMA_RESOURCE         "LAPI_ERR_NO_RDMA_RESOURCE"         "No resources for remote direct memory access are available.";
    ATTN 499 ATTN_BULK_ENABLED            "LAPI_ATTN_BULK_ENABLED"            "Bulk transfer is on.";
    ATTN 500 ATTN_TASK_TIMEOUT            "LAPI_ATTN_TASK_TIMEOUT"            "Tasks do not hear from one another; waiting for acknowledgements goes on.";
    ATTN 501 ATTN_VERSION                 "LAPI_ATTN_VERSION"                 "The version of the LAPI library.";
    ATTN 502 ATTN_SHM_INIT                "LAPI_ATTN_SHM_INIT"                "Shared memory could not be initialized; the network is used instead.";
    ATTN 503 ATTN_SHM_RESTART             "LAPI_ATTN_SHM_RESTART"             "Shared memory could not be initialized when restarting from a checkpoint.";
    ATTN 504 ATTN_SHM_ONE_TASK            "LAPI_ATTN_SHM_ONE_TASK"            "Shared memory is not used because only one task runs on this node.";
    ATTN 505 ATTN_SHM_CREATE              "LAPI_ATTN_SHM_CREATE"              "This task could not create its shared memory.";
    ATTN 506 ATTN_SHM_GET                 "LAPI_ATTN_SHM_GET"                 "This task could not obtain the shared memory of another task.";
    ATTN 507 ATTN_SHM_ATTACH              "LAPI_ATTN_SHM_ATTACH"              "This task could not map the shared memory of another task.";
    ATTN 508 ATTN_SHM_RESERVE             "LAPI_ATTN_SHM_RESERVE"             "This task could not reserve address space for shared memory.";
    ATTN 509 ATTN_FIRST_CONTACT           "LAPI_ATTN_FIRST_CONTACT"           "First communication over this port.";
    ERR  510 ERR_NO_ENV_VAR               "LAPI_ERR_NO_ENV_VAR"               "An environment variable that LAPI requires is not set.";
    ERR  511 ERR_CODE_UNKNOWN             "LAPI_ERR_CODE_UNKNOWN"             "The code is not one of LAPI's.";
}

codes! {
    /// Codes of what Lapis has beside LAPI (`lapis.h`), in ascending order, above the guide's.
    OWN_CODES:
    ERR  601 OWN_TEAM                     "LAPIS_ERR_TEAM"                    "The team is none of this context's, or has been freed.";
    ERR  602 OWN_GROUP                    "LAPIS_ERR_GROUP"                   "The members make no team: there are none, one is named twice, one is no task of the job, or the caller is none of them.";
    ERR  603 OWN_TEAM_OVER                "LAPIS_ERR_TEAM_OVER"               "The team is over: a member died, ended its context, was purged or restarted, or its call failed.";
    ERR  604 OWN_MISMATCH                 "LAPIS_ERR_MISMATCH"                "Members of the team made different calls, or calls with different roots, lengths, types or operators.";
    ERR  605 OWN_ROOT                     "LAPIS_ERR_ROOT"                    "The root, or a rank in a list, is no member of the team.";
    ERR  606 OWN_COUNT                    "LAPIS_ERR_COUNT"                   "The counts of a collective are more than an address space, or a list of them is NULL.";
    ERR  607 OWN_TYPE                     "LAPIS_ERR_TYPE"                    "The type of a collective's elements is not one that Lapis knows.";
    ERR  608 OWN_OP                       "LAPIS_ERR_OP"                      "The operator is not one that Lapis knows, has been freed, or means nothing on elements of this type.";
    ERR  609 OWN_BUFFER                   "LAPIS_ERR_BUFFER"                  "An input or output of a collective is NULL although it has a length, or another member can't read it.";
    ERR  610 OWN_REQUEST                  "LAPIS_ERR_REQUEST"                 "The request is none of this context's, or is of another kind than the call wants.";
    ERR  611 OWN_BUSY                     "LAPIS_ERR_BUSY"                    "The request is under way, or another thread uses it.";
}

/// Other spellings of a name that the guide uses: `(alias, the code's own name)`.
pub const ALIASES: &[(&str, LapiCode)] = &[("LAPI_ERR_INFO_NONZERO_INFO", LapiCode::ERR_INFO_NONZERO)];

impl LapiCode {
    /// The code with this number, if LAPI has one.
    pub fn from_i32(value: i32) -> Option<Self> {
        Self::lookup(value).map(|entry| entry.code)
    }

    /// The number that the C and Fortran interfaces return.
    pub const fn value(self) -> i32 {
        self.0
    }

    /// The name that C and Fortran programs use.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// One sentence that says what happened.
    pub fn text(self) -> &'static str {
        self.entry().text
    }

    /// Success, attention or error.
    pub fn severity(self) -> Severity {
        self.entry().severity
    }

    fn lookup(value: i32) -> Option<&'static CodeEntry> {
        let of = |table: &'static [CodeEntry]| {
            table.binary_search_by_key(&value, |entry| entry.code.0).ok().map(|at| &table[at])
        };
        of(CODES).or_else(|| of(OWN_CODES))
    }

    fn entry(self) -> &'static CodeEntry {
        // Values are only made by the table and by `from_i32`, so the row always exists.
        Self::lookup(self.0).expect("every LapiCode stands in the table")
    }
}

impl std::fmt::Debug for LapiCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl std::fmt::Display for LapiCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LAPI_MAX_ERR_STRING: what programs reserve for a text, with its terminating NUL.
    const MAX_TEXT: usize = 160;

    #[test]
    fn numbers_ascend_and_names_are_unique() {
        let all: Vec<&CodeEntry> = CODES.iter().chain(OWN_CODES).collect();
        for pair in all.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} comes after {}", pair[0].name, pair[1].name);
        }
        let names: std::collections::HashSet<_> = all.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn texts_are_sentences_that_fit_the_buffer_of_msg_string() {
        for entry in CODES.iter().chain(OWN_CODES) {
            assert!(entry.text.len() < MAX_TEXT, "{}", entry.name);
            assert!(entry.text.ends_with('.'), "{}", entry.name);
        }
    }

    #[test]
    fn the_contradictions_of_the_guide_are_settled() {
        assert_eq!(LapiCode::ERR_CODE_UNKNOWN.value(), 511);
        assert_eq!(LapiCode::from_i32(485).unwrap().severity(), Severity::Attention);
        assert_eq!(LapiCode::from_i32(498).unwrap(), LapiCode::ERR_NO_RDMA_RESOURCE);
        assert_eq!(LapiCode::from_i32(499).unwrap().severity(), Severity::Attention);
    }

    #[test]
    fn numbers_the_guide_leaves_out_are_unknown() {
        for hole in [-1, 1, 399, 403, 411, 450, 457, 483, 484, 512, 600, 612] {
            assert_eq!(LapiCode::from_i32(hole), None, "{hole}");
        }
    }
}
