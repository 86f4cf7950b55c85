//! UDP addresses that programs tell: the user handler, the user list, LAPI_ADD_UDP_DEST_PORT.

use crate::abi::*;
use crate::failure::Outcome;
use crate::handles::{Instance, Reservation, lock};
use lapis_core::config::{Config, UseShm};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Where tasks receive datagrams, by task and network instance, as far as the program told.
#[derive(Default)]
pub(crate) struct Addresses {
    known: HashMap<(u32, u32), SocketAddrV4>,
}

fn address(udp: &lapi_udp_t) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from(u32::from_be(udp.ip_addr)), u16::from_be(udp.port_no))
}

/// Asks the program for the addresses of a job whose tasks were started by hand.
///
/// # Safety
/// `info.add_info` is NULL or a lapi_extend_t with a handler of its type and a list of its length, or NULL for either.
//= LAPI Guide, Standalone initialization, a user handler wins over a user list
pub(super) unsafe fn addresses(
    reservation: &Reservation,
    info: &lapi_info_t,
    config: &Config,
) -> Outcome<Addresses> {
    let mut addresses = Addresses::default();
    let (Some(tasks), Some(task)) = (*config.procs.get(), *config.child.get()) else { return Ok(addresses) };
    let by_hand = std::env::var_os("LAPIS_KVS").is_none();
    // SAFETY: the caller's promise.
    let Some(extend) = (unsafe { info.add_info.as_ref() }) else { return Ok(addresses) };
    if !by_hand || tasks < 2 || *config.use_shm.get() == UseShm::Only {
        return Ok(addresses);
    }
    let mut list = vec![lapi_udp_t { ip_addr: 0, port_no: 0 }; tasks as usize];
    if let Some(handler) = extend.udp_hndlr {
        let mut handle = reservation.handle();
        let mut local = list[task as usize];
        let mut about = lapi_udpinfo_t { task_id: task, num_tasks: tasks, instance_no: 0, reserved: 0 };
        // SAFETY: the caller's promise; all pointers are valid during the call.
        let status = unsafe { handler(&mut handle, &mut local, list.as_mut_ptr(), &mut about) };
        if status != 0 {
            tracing::error!(target: "lapis::init", "LAPI_Init: the user's UDP handler returned {status}");
            return Err(LAPI_ERR_USER_UDP_HNDLR_FAIL);
        }
    } else if !extend.add_udp_addrs.is_null() {
        let given = if extend.num_udp_addr > 0 { extend.num_udp_addr as usize } else { tasks as usize };
        for (at, entry) in list.iter_mut().enumerate().take(given) {
            // SAFETY: the caller's promise.
            *entry = unsafe { *extend.add_udp_addrs.add(at) };
        }
    } else {
        //= LAPI Guide, LAPI_Init, LAPI_ERR_NO_UDP_HNDLR
        return Err(LAPI_ERR_NO_UDP_HNDLR);
    }
    addresses.known.extend((0..tasks).map(|task| ((task, 0), address(&list[task as usize]))));
    Ok(addresses)
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
    lock(&instance.udp_addresses).known.insert((command.tgt, command.instance_no), address(port));
    Ok(())
}
