//! Which provider, domains and addresses are used: by what they can do, and by what the user named.

use crate::address::MAX_RAILS;
use crate::choice::Rails;
use crate::declaration::{ADDRESS, DOMAIN, PROVIDER};
use crate::ffi::{
    FI_BUS_PCI, FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT,
    FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_MULTI_RECV, FI_ORDER_SAS, FI_READ,
    FI_REMOTE_READ, FI_REMOTE_WRITE, FI_RM_ENABLED, FI_RM_UNSPEC, FI_RMA, FI_THREAD_DOMAIN, FI_THREAD_UNSPEC,
    FI_WRITE, fi_info,
};
use crate::library::{Info, Library};
use crate::nearness::{Here, Place, nearest_first};
use lapis_core::config::Variable;
use lapis_core::transport::{Host, TransportError};
use std::ffi::{CStr, CString, c_char};

/// What the user named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// `LAPIS_RDMA_PROVIDER`: libfabric's name of it, such as `verbs` or `tcp;ofi_rxm`.
    pub(crate) provider: Option<String>,
    /// `LAPIS_RDMA_DOMAIN`: devices, such as `mlx5_0` or `lo`.
    pub(crate) domains: Vec<String>,
    /// `LAPIS_RDMA_ADDR`: addresses of this host.
    pub(crate) addresses: Vec<String>,
    /// `MP_EUIDEVICE` and `MP_INSTANCES`.
    pub(crate) rails: Rails,
}

impl Wanted {
    pub(crate) fn of(host: &Host) -> Result<Self, TransportError> {
        let option =
            |variable: &Variable| host.option(variable.name).filter(|value| !value.trim().is_empty());
        let list = |variable: &Variable| -> Vec<String> {
            let text = option(variable).unwrap_or_default();
            text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        };
        let (domains, addresses) = (list(&DOMAIN), list(&ADDRESS));
        let (provider, rails) = (option(&PROVIDER), Rails::of(host)?);
        for (name, count) in [(DOMAIN.name, domains.len()), (ADDRESS.name, addresses.len())] {
            if count > MAX_RAILS {
                let text = format!("{name} names {count} rails; a task has {MAX_RAILS} at most");
                return Err(TransportError::Invalid(text));
            }
        }
        Ok(Self { provider, domains, addresses, rails })
    }
}

/// A device as one provider offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) provider: String,
    pub(crate) device: String,
    /// Whether it has all that the transport needs.
    pub(crate) fits: bool,
}

impl Seen {
    pub(crate) fn is_of(&self, provider: &str) -> bool {
        // libfabric takes a name without its layers, too.
        self.provider == provider || self.provider.split(';').next() == Some(provider)
    }
}

/// Providers that drive adapters, from the most wanted to the least. Others are used where the user
/// names them: over sockets or within a host other transports are faster.
const ADAPTERS: &[&str] = &["verbs", "efa", "cxi", "opx", "psm3", "psm2", "usnic"];

/// How wanted a provider is where none is named; `None` if it drives no adapter.
pub(crate) fn rank_of(provider: &str) -> Option<usize> {
    let core = provider.split(';').next().unwrap_or_default();
    ADAPTERS.iter().position(|known| *known == core)
}

/// Finds the endpoint descriptions to use, one for each rail.
pub(crate) fn choose(library: &Library, wanted: &Wanted) -> Result<Vec<Info>, TransportError> {
    let (domains, addresses) = (&wanted.domains, &wanted.addresses);
    let named = domains.len().max(addresses.len());
    if named == 0 && wanted.rails.are_several() {
        let part = Part { provider: &wanted.provider, domain: None, address: None };
        let found = part.find(library)?;
        let devices = nearest_devices(part.best(&found)?);
        let names: Vec<_> = devices.iter().map(|info| (domain_name(info), network_name(info))).collect();
        let chosen = wanted.rails.choose(&names).map_err(TransportError::Unreachable)?;
        return chosen.into_iter().map(|at| one_sided_or(library, &found, devices[at])).collect();
    }
    // One of each list for each rail; where one list is short it starts again. A single device or
    // address may be wanted several times.
    let count = if named > 1 { named } else { wanted.rails.count(1) };
    let rail = |at: usize| {
        let nth = |list: &'_ [String]| list.get(at % list.len().max(1)).cloned();
        let (domain, address) = (nth(domains), nth(addresses));
        let part = Part { provider: &wanted.provider, domain: domain.as_ref(), address: address.as_ref() };
        let found = part.find(library)?;
        let first = *nearest_devices(part.best(&found)?).first().ok_or_else(no_adapter)?;
        one_sided_or(library, &found, first)
    };
    (0..count).map(rail).collect()
}

/// What the user named for one rail; `None` leaves the choice to us.
struct Part<'a> {
    provider: &'a Option<String>,
    domain: Option<&'a String>,
    address: Option<&'a String>,
}

impl Part<'_> {
    /// What libfabric has of it.
    fn find(&self, library: &Library) -> Result<Info, TransportError> {
        let mut hints = library.hints()?;
        let address = c_string(ADDRESS.name, self.address.map(String::as_str))?;
        let provider = c_string(PROVIDER.name, self.provider.as_deref())?;
        let domain = c_string(DOMAIN.name, self.domain.map(String::as_str))?;
        fill(hints.first_mut(), provider.as_deref(), domain.as_deref());
        library.info(address.as_deref(), &hints).map_err(|code| self.nothing(&library.text(code)))
    }

    fn nothing(&self, why: &str) -> TransportError {
        TransportError::Io(format!(
            "libfabric has no provider for reliable datagram endpoints with {wanted}: {why} \
             (fi_info -t FI_EP_RDM lists what there is)",
            wanted = self.describe(),
        ))
    }

    fn describe(&self) -> String {
        let parts = [
            (PROVIDER.name, self.provider.as_ref()),
            (DOMAIN.name, self.domain),
            (ADDRESS.name, self.address),
        ];
        let parts: Vec<String> =
            parts.iter().filter_map(|(name, value)| Some(format!("{name}={}", (*value)?))).collect();
        if parts.is_empty() { "multi-receive buffers".to_owned() } else { parts.join(", ") }
    }

    /// Those of the best provider, as libfabric has them. Some providers answer with others than
    /// the named device.
    fn best<'a>(&self, found: &'a Info) -> Result<Vec<&'a fi_info>, TransportError> {
        let is_named = |info: &&fi_info| self.domain.is_none_or(|domain| *domain == domain_name(info));
        let rank = |info: &fi_info| {
            let known = rank_of(&provider_name(info));
            known.or_else(|| self.provider.is_some().then_some(ADAPTERS.len()))
        };
        let named = || found.iter().filter(is_named);
        let Some(first) = named().filter(|info| rank(info).is_some()).min_by_key(|info| rank(info)) else {
            return Err(match self.domain {
                Some(_) if named().next().is_none() => self.nothing("there is no such device"),
                _ => no_adapter(),
            });
        };
        let provider = provider_name(first);
        Ok(named().filter(|info| provider_name(info) == provider).collect())
    }
}

/// One description for each device, the nearest of each network first. The loopback device is none
/// where there are others.
fn nearest_devices(infos: Vec<&fi_info>) -> Vec<&fi_info> {
    let Some(format) = infos.first().map(|info| info.addr_format) else { return Vec::new() };
    let fitting = || infos.iter().filter(|info| info.addr_format == format);
    let others = fitting().any(|info| domain_name(info) != "lo");
    let mut devices: Vec<&fi_info> = Vec::new();
    for info in fitting() {
        let name = domain_name(info);
        let seen = devices.iter().any(|device| domain_name(device) == name);
        if !(seen || others && name == "lo") {
            devices.push(info);
        }
    }
    let places: Vec<_> = devices.iter().map(|info| (network_name(info), place(info))).collect();
    // Nothing is read from the system where there is no choice.
    let order =
        if places.len() < 2 { vec![0; places.len()] } else { nearest_first(&places, &Here::of_this_task()) };
    order.into_iter().map(|at| devices[at]).collect()
}

/// Where a device is attached: by the address that its provider gives, or else by its name.
fn place(info: &fi_info) -> Place {
    // SAFETY: a description's adapter, if there is one, and its parts are libfabric's or null.
    let bus = unsafe { info.nic.as_ref().and_then(|nic| nic.bus_attr.as_ref()) };
    match bus.filter(|bus| bus.bus_type == FI_BUS_PCI) {
        Some(bus) => {
            // SAFETY: the type says which of the union's parts it is.
            let pci = unsafe { bus.attr.pci };
            Place::of_pci((pci.domain_id, pci.bus_id, pci.device_id, pci.function_id))
        }
        None => Place::of_name(&domain_name(info)),
    }
}

/// What libfabric has, whether it suits or not.
pub(crate) fn seen(library: &Library) -> Vec<Seen> {
    let list = |fitting: bool| {
        let mut hints = library.hints().ok()?;
        fill(hints.first_mut(), None, None);
        if !fitting {
            let info = hints.first_mut();
            (info.caps, info.mode) = (0, u64::MAX);
            // SAFETY: an empty description has all its parts.
            unsafe {
                (*info.tx_attr).msg_order = 0;
                (*info.rx_attr).msg_order = 0;
                (*info.domain_attr).threading = FI_THREAD_UNSPEC;
                (*info.domain_attr).resource_mgmt = FI_RM_UNSPEC;
            }
        }
        let found = library.info(None, &hints).ok()?;
        Some(found.iter().map(|info| (provider_name(info), domain_name(info))).collect::<Vec<_>>())
    };
    let fitting = list(true).unwrap_or_default();
    let mut all = list(false).unwrap_or_default();
    all.extend_from_slice(&fitting);
    let mut seen: Vec<Seen> = Vec::new();
    for (provider, device) in all {
        let fits = fitting.contains(&(provider.clone(), device.clone()));
        let one = Seen { provider, device, fits };
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

fn one_sided_or(library: &Library, found: &Info, info: &fi_info) -> Result<Info, TransportError> {
    with_one_sided(library, found, info).map_or_else(|| found.pick(info), Ok)
}

fn no_adapter() -> TransportError {
    TransportError::Io(
        "libfabric finds no RDMA adapter on this machine; LAPIS_RDMA_PROVIDER names a provider \
         that does without, such as tcp;ofi_rxm"
            .to_owned(),
    )
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
    // SAFETY: a domain's name is NUL-terminated or null.
    unsafe { info.domain_attr.as_ref().map_or_else(String::new, |d| text(d.name)) }
}

/// The name of the network that a device is on.
pub(crate) fn network_name(info: &fi_info) -> String {
    // SAFETY: a fabric's name is NUL-terminated or null.
    unsafe { info.fabric_attr.as_ref().map_or_else(String::new, |f| text(f.name)) }
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
