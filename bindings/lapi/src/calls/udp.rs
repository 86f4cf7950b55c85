//! UDP addresses that programs tell: the user handler, the user list, LAPI_ADD_UDP_DEST_PORT.

use crate::abi::*;
use crate::failure::Outcome;
use crate::handles::{Instance, Reservation};
use lapis_core::Error;
use lapis_core::config::{Config, EuiLib, Instances, UseShm};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

/// Network instances that a task can have: more are not looked for.
const MAX_PATHS: i64 = 8;

/// Where each task receives datagrams, one address for each network instance; empty if the program
/// doesn't tell.
pub(super) type Addresses = Vec<Vec<SocketAddr>>;

fn address(udp: &lapi_udp_t) -> SocketAddr {
    SocketAddrV4::new(Ipv4Addr::from(u32::from_be(udp.ip_addr)), u16::from_be(udp.port_no)).into()
}

/// Asks the program for the addresses of a job whose tasks were started by hand, as `by_hand` says.
///
/// # Safety
/// `info.add_info` is NULL or a lapi_extend_t with a handler of its type and a list of its length,
/// or NULL for either.
//= LAPI Guide, Standalone initialization, a user handler wins over a user list
pub(super) unsafe fn addresses(
    reservation: &Reservation,
    info: &lapi_info_t,
    config: &Config,
    by_hand: bool,
) -> Outcome<Addresses> {
    // A task that nothing is said about is a job of its own.
    let (tasks, task) = (config.procs.get().unwrap_or(1), config.child.get().unwrap_or(0));
    // SAFETY: the caller's promise.
    let Some(extend) = (unsafe { info.add_info.as_ref() }) else { return Ok(Vec::new()) };
    let over_udp = *config.euilib.get() == EuiLib::Ip && *config.use_shm.get() != UseShm::Only;
    if !by_hand || task >= tasks || !over_udp {
        return Ok(Vec::new());
    }
    let all = if let Some(handler) = extend.udp_hndlr {
        // SAFETY: the caller's promise.
        unsafe { of_handler(handler, reservation, config, (task, tasks)) }?
    } else if !extend.add_udp_addrs.is_null() {
        // SAFETY: the caller's promise.
        unsafe { of_list(extend, tasks) }?
    } else {
        //= LAPI Guide, LAPI_Init, LAPI_ERR_NO_UDP_HNDLR
        return Err(LAPI_ERR_NO_UDP_HNDLR);
    };
    for (task, told) in all.iter().enumerate() {
        if let Some(bad) = told.iter().find(|a| a.port() == 0 || a.ip().is_unspecified()) {
            tracing::error!(target: "lapis::init", "LAPI_Init: the program tells no UDP address for task {task}, but {bad}");
            return Err(LAPI_ERR_UDP_PORT_INFO);
        }
    }
    Ok(all)
}

/// Calls the user's handler once for each network instance.
///
/// # Safety
/// The handler follows its prototype.
unsafe fn of_handler(
    handler: udp_init_hndlr,
    reservation: &Reservation,
    config: &Config,
    (task, tasks): (u32, u32),
) -> Outcome<Addresses> {
    let mut all: Addresses = vec![Vec::new(); tasks as usize];
    // Held during the calls, so that nobody else gets the ports that the handler may pass on.
    let mut held = Vec::new();
    for (instance, ip) in local_addresses(config)?.into_iter().enumerate() {
        let place = UdpSocket::bind((ip, 0)).and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (own, socket) = place.map_err(|e| {
            tracing::error!(target: "lapis::init", "LAPI_Init: no UDP socket at {ip}: {e}");
            LAPI_ERR_UDP_SOCKET
        })?;
        held.push(socket);
        let mut mine = lapi_udp_t { ip_addr: u32::from(ip).to_be(), port_no: own.port().to_be() };
        let mut list = vec![lapi_udp_t { ip_addr: 0, port_no: 0 }; tasks as usize];
        let mut handle = reservation.handle();
        let mut about =
            lapi_udpinfo_t { task_id: task, num_tasks: tasks, instance_no: instance as u32, reserved: 0 };
        // SAFETY: the caller's promise; all pointers are valid during the call.
        let status = unsafe { handler(&mut handle, &mut mine, list.as_mut_ptr(), &mut about) };
        if status != 0 {
            tracing::error!(target: "lapis::init", "LAPI_Init: the user's UDP handler returned {status}");
            return Err(LAPI_ERR_USER_UDP_HNDLR_FAIL);
        }
        // What it leaves 0 for this task itself means the port that is held.
        if u16::from_be(list[task as usize].port_no) == 0 {
            list[task as usize] = lapi_udp_t { ip_addr: u32::from(ip).to_be(), port_no: own.port().to_be() };
        }
        add(&mut all, &list);
    }
    Ok(all)
}

/// Takes the addresses of the user's list: those of all tasks for the first instance, then for the
/// next.
///
/// # Safety
/// The list is as long as `extend` says.
unsafe fn of_list(extend: &lapi_extend_t, tasks: u32) -> Outcome<Addresses> {
    let given = if extend.num_udp_addr == 0 { i64::from(tasks) } else { extend.num_udp_addr.into() };
    let whole = given % i64::from(tasks) == 0;
    // Before the list is read: a wrong number leads out of it.
    if given < 0 || !whole || given / i64::from(tasks) > MAX_PATHS {
        tracing::error!(
            target: "lapis::init",
            "LAPI_Init: num_udp_addr is {given}; {tasks} tasks have {tasks} addresses for each of 1 to {MAX_PATHS} instances"
        );
        return Err(LAPI_ERR_UDP_PORT_INFO);
    }
    // SAFETY: the caller's promise.
    let list = unsafe { std::slice::from_raw_parts(extend.add_udp_addrs, given as usize) };
    let mut all: Addresses = vec![Vec::new(); tasks as usize];
    list.chunks_exact(tasks as usize).for_each(|list| add(&mut all, list));
    Ok(all)
}

/// One more address for each task.
fn add(all: &mut Addresses, list: &[lapi_udp_t]) {
    all.iter_mut().zip(list).for_each(|(paths, entry)| paths.push(address(entry)));
}

/// This machine's address for each network instance. The structure that tells the program has room
/// for IPv4.
fn local_addresses(config: &Config) -> Outcome<Vec<Ipv4Addr>> {
    if let Some(list) = config.inet_addr.get() {
        let four = |(ip, _): &(IpAddr, String)| match ip {
            IpAddr::V4(ip) => Ok(*ip),
            IpAddr::V6(ip) => {
                tracing::error!(
                    target: "lapis::init",
                    "LAPI_Init: MP_LAPI_INET_ADDR names {ip}, and a user's UDP handler is told addresses of IPv4 only: \
                     name such, or leave the handler out"
                );
                Err(LAPI_ERR_UDP_PORT_INFO)
            }
        };
        return list.0.iter().map(four).collect();
    }
    let count = match config.instances.get() {
        Some(Instances::Count(count)) => (*count).clamp(1, MAX_PATHS as u32) as usize,
        _ => 1,
    };
    Ok(vec![outward().unwrap_or(Ipv4Addr::LOCALHOST); count])
}

/// The address that this machine has towards others. Nothing is sent: connecting a socket asks the
/// kernel for the way.
fn outward() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Of the block for documentation: any address beyond this machine's networks serves.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(at) => Some(*at.ip()),
        SocketAddr::V6(_) => None,
    }
}

/// # Safety
/// `command` is a lapi_add_udp_port_t.
//= LAPI Guide, LAPI_Util, LAPI_ADD_UDP_DEST_PORT, table 21
pub(super) unsafe fn add_port(instance: &Instance, command: *mut lapi_add_udp_port_t) -> Outcome {
    // SAFETY: the caller's promise.
    let command = unsafe { &*command };
    if command.tgt >= instance.context.tasks() {
        return Err(LAPI_ERR_TGT);
    }
    //= LAPI Guide, LAPI_Util, LAPI_ERR_UDP_PORT_INFO
    // SAFETY: by the guide, NULL or an address.
    let Some(port) = (unsafe { command.udp_port.as_ref() }) else { return Err(LAPI_ERR_UDP_PORT_INFO) };
    let told = instance.context.set_peer_address(command.tgt, command.instance_no as usize, address(port));
    told.map_err(|error| {
        tracing::error!(target: "lapis::call", "LAPI_Util: {}", error.with_causes());
        match error {
            Error::NotAllowed { .. } => LAPI_ERR_UTIL_CMD,
            _ => LAPI_ERR_UDP_PORT_INFO,
        }
    })
}
