//! Which provider, domain and address are used: by what they can do, and by what the user named.

use crate::declaration::{ADDRESS, DOMAIN, PROVIDER};
use crate::ffi::{
    FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT, FI_MR_LOCAL,
    FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_MULTI_RECV, FI_ORDER_SAS, FI_READ, FI_REMOTE_READ,
    FI_REMOTE_WRITE, FI_RM_ENABLED, FI_RMA, FI_THREAD_DOMAIN, FI_WRITE, fi_info,
};
use crate::library::{Info, Library};
use lapis_core::config::Variable;
use lapis_core::transport::{Host, TransportError};
use std::ffi::{CStr, CString, c_char};

/// What the user named; `None` leaves the choice to us.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// `LAPIS_RDMA_PROVIDER`: libfabric's name of it, such as `verbs` or `tcp;ofi_rxm`.
    pub(crate) provider: Option<String>,
    /// `LAPIS_RDMA_DOMAIN`: a device, such as `mlx5_0` or `lo`.
    pub(crate) domain: Option<String>,
    /// `LAPIS_RDMA_ADDR`: an address of this host.
    pub(crate) address: Option<String>,
}

impl Wanted {
    pub(crate) fn of(host: &Host) -> Self {
        let option =
            |variable: &Variable| host.option(variable.name).filter(|value| !value.trim().is_empty());
        Self { provider: option(&PROVIDER), domain: option(&DOMAIN), address: option(&ADDRESS) }
    }
}

/// Providers that drive adapters, from the most wanted to the least. Others are used where the user
/// names them: over sockets or within a host other transports are faster.
const ADAPTERS: &[&str] = &["verbs", "efa", "cxi", "opx", "psm3", "psm2", "usnic"];

/// Finds the endpoint description to use.
pub(crate) fn choose(library: &Library, wanted: &Wanted) -> Result<Info, TransportError> {
    let mut hints = library.hints()?;
    let address = c_string(ADDRESS.name, wanted.address.as_deref())?;
    let provider = c_string(PROVIDER.name, wanted.provider.as_deref())?;
    let domain = c_string(DOMAIN.name, wanted.domain.as_deref())?;
    fill(hints.first_mut(), provider.as_deref(), domain.as_deref());
    let found = library.info(address.as_deref(), &hints).map_err(|code| {
        TransportError::Io(format!(
            "libfabric has no provider for reliable datagram endpoints with {wanted}: {why} \
             (fi_info -t FI_EP_RDM lists what there is)",
            wanted = describe(wanted),
            why = library.text(code),
        ))
    })?;
    let rank = |info: &fi_info| {
        let name = provider_name(info);
        let core = name.split(';').next().unwrap_or_default();
        let known = ADAPTERS.iter().position(|known| *known == core);
        known.or_else(|| wanted.provider.is_some().then_some(ADAPTERS.len()))
    };
    // The first of the best: libfabric puts the nearest device first.
    let ranked = found.iter().filter_map(|info| rank(info).map(|rank| (rank, info)));
    let best = ranked.min_by_key(|(rank, _)| *rank).map(|(_, info)| info).ok_or_else(|| {
        TransportError::Io(
            "libfabric finds no RDMA adapter on this machine; LAPIS_RDMA_PROVIDER names a provider \
             that does without, such as tcp;ofi_rxm"
                .to_owned(),
        )
    })?;
    Ok(with_one_sided(library, &found, best).unwrap_or(found.pick(best)?))
}

/// The same device with one-sided operations, if it has them: rather such that say when a put is in
/// the target's memory.
fn with_one_sided(library: &Library, found: &Info, best: &fi_info) -> Option<Info> {
    [u64::from(FI_DELIVERY_COMPLETE), 0].into_iter().find_map(|flags| {
        let mut hints = found.pick(best).ok()?;
        let info = hints.first_mut();
        // SAFETY: a description from libfabric has all its parts.
        let same = unsafe {
            let (tx, rx) = (&mut *info.tx_attr, &mut *info.rx_attr);
            info.caps = u64::from(FI_MSG | FI_MULTI_RECV | ONE_SIDED);
            (tx.caps, rx.caps) = (0, 0);
            tx.op_flags = flags;
            (*info.domain_attr).caps = 0;
            (*info.domain_attr).mr_mode = MR_MODES;
            (provider_name(info), domain_name(info), info.addr_format)
        };
        info.mode = FI_CONTEXT | FI_CONTEXT2;
        let answers = library.info(None, &hints).ok()?;
        let fits = |info: &&fi_info| (provider_name(info), domain_name(info), info.addr_format) == same;
        answers.iter().find(fits).and_then(|info| answers.pick(info).ok())
    })
}

/// Puts and gets, both ways.
const ONE_SIDED: u32 = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

/// How providers may want memory to be registered.
const MR_MODES: i32 =
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT) as i32;

/// What an endpoint must have.
fn fill(hints: &mut fi_info, provider: Option<&CStr>, domain: Option<&CStr>) {
    hints.caps = u64::from(FI_MSG | FI_MULTI_RECV);
    hints.mode = FI_CONTEXT | FI_CONTEXT2;
    // SAFETY: an empty description has all its parts; libfabric frees the strings with it.
    unsafe {
        (*hints.ep_attr).type_ = FI_EP_RDM;
        (*hints.tx_attr).msg_order = u64::from(FI_ORDER_SAS);
        (*hints.rx_attr).msg_order = u64::from(FI_ORDER_SAS);
        let d = &mut *hints.domain_attr;
        d.threading = FI_THREAD_DOMAIN;
        d.resource_mgmt = FI_RM_ENABLED;
        d.mr_mode = MR_MODES;
        if let Some(name) = domain {
            d.name = libc::strdup(name.as_ptr());
        }
        if let Some(name) = provider {
            (*hints.fabric_attr).prov_name = libc::strdup(name.as_ptr());
        }
    }
}

/// The provider's name, layers and all.
pub(crate) fn provider_name(info: &fi_info) -> String {
    // SAFETY: descriptions from libfabric have a fabric; its strings are NUL-terminated or null.
    unsafe { info.fabric_attr.as_ref().map_or_else(String::new, |f| text(f.prov_name)) }
}

/// The device's name.
pub(crate) fn domain_name(info: &fi_info) -> String {
    // SAFETY: as for a fabric's name: NUL-terminated or null.
    unsafe { info.domain_attr.as_ref().map_or_else(String::new, |d| text(d.name)) }
}

/// # Safety
/// Null, or a NUL-terminated string.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: not null, so NUL-terminated by the caller's promise.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

fn c_string(name: &str, value: Option<&str>) -> Result<Option<CString>, TransportError> {
    value
        .map(|value| {
            CString::new(value).map_err(|_| TransportError::Invalid(format!("{name} contains a NUL byte")))
        })
        .transpose()
}

fn describe(wanted: &Wanted) -> String {
    let part = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}={value}"));
    let parts: Vec<String> = [
        part(PROVIDER.name, &wanted.provider),
        part(DOMAIN.name, &wanted.domain),
        part(ADDRESS.name, &wanted.address),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "multi-receive buffers".to_owned() } else { parts.join(", ") }
}
