//! Several datagrams of one length in one call: the kernel cuts what a UDP socket sends
//! (`UDP_SEGMENT`). For transports that send by sockets; core itself has none.

/// Bytes of the control message that says how long each datagram is.
// SAFETY: arithmetic only.
const BYTES: usize = unsafe { libc::CMSG_SPACE(size_of::<u16>() as libc::c_uint) } as usize;

/// Room for the control message, aligned as the kernel wants it.
#[derive(Debug)]
#[repr(align(8))]
pub struct Segments([u8; BYTES]);

impl Segments {
    /// Room for one call.
    #[inline]
    pub fn new() -> Self {
        Self([0; BYTES])
    }

    /// Has what `header` names leave as datagrams of `each` bytes; the last one may be shorter. The
    /// header refers to this room, which has to stay until it has been sent.
    #[inline]
    pub fn cut(&mut self, header: &mut libc::msghdr, each: u16) {
        header.msg_control = self.0.as_mut_ptr().cast();
        header.msg_controllen = BYTES as _;
        // SAFETY: the control buffer is aligned and has room for one message of two bytes.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(header);
            (*message).cmsg_level = libc::SOL_UDP;
            (*message).cmsg_type = libc::UDP_SEGMENT;
            (*message).cmsg_len = libc::CMSG_LEN(size_of_val(&each) as libc::c_uint) as _;
            libc::CMSG_DATA(message).cast::<u16>().write_unaligned(each);
        }
    }
}

impl Default for Segments {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn what_is_cut_arrives_as_datagrams_of_one_length_and_a_shorter_one() {
        let [from, to] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port"));
        to.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time");
        from.connect(to.local_addr().expect("bound")).expect("connects");
        let bytes: Vec<u8> = (0..25).collect();
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: plain data, valid as zeros.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        let mut segments = Segments::new();
        segments.cut(&mut header, 10);
        // SAFETY: all that the header names lives in this test.
        let sent = unsafe { libc::sendmsg(from.as_raw_fd(), &raw const header, 0) };
        assert_eq!(sent, 25, "{}", std::io::Error::last_os_error());
        let mut into = [0; 64];
        for datagram in bytes.chunks(10) {
            let len = to.recv(&mut into).expect("it was sent");
            assert_eq!(&into[..len], datagram);
        }
    }
}
