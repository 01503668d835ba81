//! Receives requests of OpenTelemetry exporters over HTTP, from this machine only: JSON and protobuf, compressed or
//! not. Refuses other host names, pages in browsers, gRPC (with a hint to the user), and other users of this machine if
//! the kernel identifies them. Accepts and discards metrics and logs, which instrumented programs send to the same
//! port: they print an error for each refused request.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use super::super::reading_thread::{ArrivalError, LOOK_EVERY};
use super::super::source_note::{Say, SourceNote};
use super::http::{BodyMemory, HttpConnection, NoRequest, RequestHead};
use super::otlp_streams::{OtlpEncoding, OtlpStreams, RequestOutcome};
use super::peer_user::{PeerUser, peer_user};
use super::{Connections, NewSource};
use crate::base::cancel::Cancel;
use crate::base::threads;

/// The OTLP port over HTTP, to which exporters send by default.
pub(crate) const OTLP_PORT: u16 = 4318;

/// The OTLP port over gRPC, where exporters get a hint about the right port.
const GRPC_PORT: u16 = 4317;

const CONNECTIONS_MAX: usize = 64;

/// Share of the memory limit for bodies, and their absolute limit.
const BODIES_PART: u64 = 16;
const BODIES_MAX: u64 = 32 << 20;

const PATH: &str = "/v1/traces";

/// The paths of data that is discarded.
const DISCARDED_PATHS: [&str; 2] = ["/v1/metrics", "/v1/logs"];

/// Starts to listen at a port of the loopback addresses; 0 selects any free port.
pub(super) fn listen(
    port: u16,
    memory_bytes: u64,
    stop: &Cancel,
    say: &Say,
) -> Result<Receiver<NewSource>, ArrivalError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |source: io::Error| {
        let source = match source.kind() {
            io::ErrorKind::AddrInUse => io::Error::new(source.kind(), "another program listens there"),
            _ => source,
        };
        ArrivalError::Listen { address: format!("http://{address}"), source }
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let (out, new) = bounded(1);
    let server = Server {
        streams: Arc::new(OtlpStreams::new(out)),
        memory: BodyMemory::new((memory_bytes / BODIES_PART).min(BODIES_MAX)),
        connections: Connections::new(CONNECTIONS_MAX),
        stop: stop.clone(),
        say: Arc::clone(say),
        has_said_grpc: Arc::default(),
        has_said_user: Arc::default(),
        has_said_many: Arc::default(),
        has_said_discarded: Arc::default(),
        port,
    };
    // Also listens, if they are free, on the other loopback address, which may come first for `localhost`, and on the
    // gRPC port.
    let other = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).ok();
    let grpc = (port == OTLP_PORT).then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, GRPC_PORT)).ok()).flatten();
    for listener in [Some(listener), other, grpc].into_iter().flatten() {
        listener.set_nonblocking(true).map_err(failed)?;
        let server = server.clone();
        threads::start("listen", move || server.accept_all(&listener)).map_err(failed)?;
    }
    say(SourceNote::passing(format!("listening for OTLP at http://127.0.0.1:{port}{PATH}")));
    Ok(new)
}

#[derive(Clone)]
struct Server {
    streams: Arc<OtlpStreams>,
    memory: BodyMemory,
    connections: Connections,
    stop: Cancel,
    say: Say,
    has_said_grpc: Arc<AtomicBool>,
    has_said_user: Arc<AtomicBool>,
    has_said_many: Arc<AtomicBool>,
    has_said_discarded: Arc<AtomicBool>,
    port: u16,
}

impl Server {
    fn accept_all(self, listener: &TcpListener) {
        while !self.stop.is_cancelled() {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(LOOK_EVERY);
                continue;
            };
            if stream.set_nonblocking(false).is_err() {
                continue;
            }
            let Some(counted) = self.connections.count() else {
                if !self.has_said_many.swap(true, Ordering::SeqCst) {
                    let text = format!("more than {CONNECTIONS_MAX} exporters at once: others are asked to send again");
                    (self.say)(SourceNote::lasting(text));
                }
                // The request is not read at all, so that a flood does not block.
                HttpConnection::new(stream, self.stop.clone()).refuse(503, b"too many connections\n").ok();
                continue;
            };
            let server = self.clone();
            let started = threads::start("serve", move || {
                server.serve(stream);
                drop(counted);
            });
            if started.is_err() {
                // The connection is closed, and its client tries again.
                thread::sleep(LOOK_EVERY);
            }
        }
    }

    /// Serves the requests of a connection.
    fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).ok(); // responses are only slower without
        let user = peer_user(&stream);
        let mut connection = HttpConnection::new(stream, self.stop.clone());
        if let Some((status, text)) = self.refuse_user(user) {
            connection.refuse(status, text).ok();
            connection.drain();
            return;
        }
        loop {
            let answered = connection.head().and_then(|head| {
                // Exporters that wait for their next batch leave room for others.
                let keeps_alive = head.keeps_alive && !self.connections.is_nearly_full();
                self.request(&head, &mut connection).map(|encoding| (encoding, keeps_alive))
            });
            let (status, text) = match answered {
                Ok((encoding, keeps_alive)) => {
                    let (kind, text) = encoding.answer();
                    if connection.answer(200, kind, text, keeps_alive).is_err() || !keeps_alive {
                        return;
                    }
                    continue;
                }
                Err(NoRequest::Gone) => return,
                Err(NoRequest::Grpc) => (505, self.refuse_grpc()),
                Err(NoRequest::Tls) => (400, format!("this is HTTP without TLS: use http://127.0.0.1:{}", self.port)),
                Err(NoRequest::Refused(status, why)) => (status, why.to_owned()),
            };
            // The rest of the request is ignored.
            connection.refuse(status, format!("{text}\n").as_bytes()).ok();
            connection.drain();
            return;
        }
    }

    /// Returns the status and text for a program of another user.
    fn refuse_user(&self, user: PeerUser) -> Option<(u16, &'static [u8])> {
        match user {
            PeerUser::Allowed => None,
            PeerUser::Gone => Some((503, b"the other end is closed\n")),
            PeerUser::Other(user) => {
                if !self.has_said_user.swap(true, Ordering::SeqCst) {
                    let text = format!("an exporter of user {user} was refused: only programs of this user may send");
                    (self.say)(SourceNote::lasting(text));
                }
                Some((403, b"only programs of the user who listens may send traces\n"))
            }
        }
    }

    /// Returns the text for an exporter that uses gRPC; exporters do not show it.
    fn refuse_grpc(&self) -> String {
        let port = self.port;
        let text = format!(
            "only OTLP over HTTP is received, and not gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and \
             OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port}"
        );
        if !self.has_said_grpc.swap(true, Ordering::SeqCst) {
            (self.say)(SourceNote::lasting(format!("an exporter was refused: {text}")));
        }
        text
    }

    /// Tells the user once that a program sends more than traces.
    fn say_discarded(&self) {
        if !self.has_said_discarded.swap(true, Ordering::SeqCst) {
            let text = "metrics and logs of OpenTelemetry are received and discarded: only traces are shown";
            (self.say)(SourceNote::passing(text.to_owned()));
        }
    }

    /// Handles a request after its head.
    fn request(&self, head: &RequestHead, connection: &mut HttpConnection) -> Result<OtlpEncoding, NoRequest> {
        // A page of any site could send here, and through a host name that resolves to this machine, read the
        // responses.
        if head.is_of_browser {
            return Err(NoRequest::Refused(403, "pages of browsers may not send traces"));
        }
        if !head.host.as_deref().is_some_and(is_this_machine) {
            return Err(NoRequest::Refused(421, "requests must name this machine: 127.0.0.1 or localhost"));
        }
        // The query of a URL changes nothing.
        let path = head.path.split('?').next().unwrap_or_default();
        let is_discarded = DISCARDED_PATHS.contains(&path);
        if path != PATH && !is_discarded {
            return Err(NoRequest::Refused(404, "only traces are received, at /v1/traces"));
        }
        if head.method != "POST" {
            return Err(NoRequest::Refused(405, "send data with POST"));
        }
        let encoding = OtlpEncoding::from_content_type(&head.content_type)
            .ok_or(NoRequest::Refused(415, "expected application/x-protobuf or application/json"))?;
        let body = connection.body(head, &self.memory)?;
        if is_discarded {
            self.say_discarded();
            return Ok(encoding);
        }
        match self.streams.append(encoding, body) {
            RequestOutcome::Kept => Ok(encoding),
            RequestOutcome::NotOtlp => Err(NoRequest::Refused(400, "the body is not a request to export traces")),
            RequestOutcome::Busy => Err(NoRequest::Refused(429, "earlier data is not sorted yet: send it again later")),
            // Exporters send again after 503, but not after 500. This request may still be shown.
            RequestOutcome::Unconfirmed => {
                Err(NoRequest::Refused(500, "received, but perhaps not on disk: do not send it again"))
            }
            RequestOutcome::SessionEnded => Err(NoRequest::Refused(503, "the receiver has stopped")),
        }
    }
}

/// Returns whether a host, with or without a port, is a loopback name.
fn is_this_machine(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    ["127.0.0.1", "localhost", "[::1]"].into_iter().any(|name| {
        let rest = host.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for host in ["127.0.0.1", "127.0.0.1:4318", "localhost:1", "[::1]:4318"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.1:x", "::1"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
