//! Determines the user at the other end of a loopback connection, from the kernel's table of connections. Other users
//! are refused; a user that the system does not report is allowed.
//!
//! The superuser is allowed: container proxies run as root, and root can read everything anyway.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::base::files;

/// The tables by protocol version. A version 6 socket may have connected to a version 4 address.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Reads of the table: it is read in parts, and a read may miss a row that moves meanwhile.
const ATTEMPTS: u32 = 3;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// The user at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerUser {
    Allowed,
    Other(u32),
    /// The other end is closed, so its user is unknown.
    Gone,
}

/// Looks up the user at the other end of a connection.
pub(super) fn peer_user(stream: &TcpStream) -> PeerUser {
    let (Ok(peer), Ok(own_addr)) = (stream.peer_addr(), stream.local_addr()) else { return PeerUser::Gone };
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(BETWEEN_ATTEMPTS);
        }
        let tables: Vec<String> = TABLES.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        // Other systems have no such table, and some hide it.
        if tables.is_empty() {
            return PeerUser::Allowed;
        }
        match tables.iter().find_map(|table| owner(table, peer, own_addr)) {
            Some(user) if user == files::user() || user == 0 => return PeerUser::Allowed,
            Some(user) => return PeerUser::Other(user),
            None => {}
        }
    }
    PeerUser::Gone
}

/// Returns the user of the socket at `peer` that is connected to `own_addr`; `None` if it is missing or closed.
fn owner(table: &str, peer: SocketAddr, own_addr: SocketAddr) -> Option<u32> {
    let (local, remote) =
        ([name_of(peer, false), name_of(peer, true)], [name_of(own_addr, false), name_of(own_addr, true)]);
    table.lines().skip(1).find_map(|line| {
        // Number, local and remote address, state, queues, timer, retransmits, user, timeout, inode.
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_local = local.iter().any(|name| fields.clone().next() == Some(name));
        let is_ours = is_local && remote.iter().any(|name| fields.clone().nth(1) == Some(name));
        let (user, inode) = (fields.nth(6)?, fields.nth(1)?);
        // A closed socket has neither a file nor a user; the table shows both as 0.
        if is_ours && inode != "0" { user.parse().ok() } else { None }
    })
}

/// Formats an address like the table: words in the byte order of the processor. `is_mapped` writes a version 4 address
/// as version 6.
fn name_of(address: SocketAddr, is_mapped: bool) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(ip) if is_mapped => ip.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes.chunks_exact(4).map(|word| {
        let mut whole = [0; 4];
        whole.copy_from_slice(word);
        format!("{:08X}", u32::from_ne_bytes(whole))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    use super::*;

    #[test]
    fn a_table_names_the_user_of_the_other_end_and_of_no_other_socket() {
        let at = |ip: [u8; 4], port: u16| SocketAddr::from((Ipv4Addr::from(ip), port));
        let (peer, own) = (at([127, 0, 0, 1], 0xd2ee), at([127, 0, 0, 1], 0x10de));
        let local = name_of(own, false).split(':').next().unwrap().to_owned();
        let mapped = name_of(own, true).split(':').next().unwrap().to_owned();
        let row = |ip: &str, from: u16, to: u16, user: u32, inode: u32| {
            format!(
                "   0: {ip}:{from:04X} {ip}:{to:04X} 01 00000000:00000000 00:00000000 00000000  {user}   0 {inode} 2\n"
            )
        };
        let head = "  sl  local_address rem_address   st\n".to_owned();
        // The listener's own end, another connection, a closed one, a truncated line, and the right one.
        let mine = row(&local, 0x10de, 0xd2ee, 7, 1) + &row(&local, 0xd2ef, 0x10de, 8, 2);
        let closed = row(&local, 0xd2ee, 0x10de, 0, 0) + "  1: x\n\n";
        assert_eq!(owner(&format!("{head}{mine}{closed}"), peer, own), None);
        for ip in [&local, &mapped] {
            let table = format!("{head}{mine}{closed}{}", row(ip, 0xd2ee, 0x10de, 65534, 3));
            assert_eq!(owner(&table, peer, own), Some(65534), "{table}");
        }
        assert_eq!(owner("", peer, own), None);
    }

    #[test]
    fn this_user_is_let_in_at_both_addresses_until_the_other_end_is_closed() {
        let connections = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
        for address in connections {
            // A machine may have no version 6 addresses.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert_eq!(peer_user(&stream), PeerUser::Allowed, "{address}");
            drop(other);
            assert_eq!(peer_user(&stream), PeerUser::Gone, "{address}");
        }
    }
}
