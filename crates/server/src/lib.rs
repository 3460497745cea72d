//! Serves the timeline on loopback, for more events than a page can hold: the page asks for what it has pixels for, and
//! what it searches and selects is answered over all events.
//!
//! Only this machine can connect, and only who has the address: it holds a random word, without which there is nothing,
//! and requests that name another host are refused, so that no page of the web can ask by way of a browser. Connections are
//! counted, and none is waited for without end.

mod connections;
mod guard;
mod routes;

use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use gpuscope_analysis::timeline::Atlas;

use connections::Connections;

/// What all requests share.
#[derive(Debug)]
struct Shared {
    atlas: Atlas,
    title: String,
    token: String,
    address: SocketAddr,
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct ViewServer {
    listener: TcpListener,
    shared: Arc<Shared>,
}

impl ViewServer {
    /// On a port of loopback; 0 for any that is free.
    pub fn bind(atlas: Atlas, title: &str, port: u16) -> io::Result<ViewServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Shared { atlas, title: title.to_owned(), token: token()?, address };
        Ok(ViewServer { listener, shared: Arc::new(shared) })
    }

    /// What to open in a browser.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.shared.address, self.shared.token)
    }

    /// Answers until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let token = self.shared.token.clone();
            Connections::new(routes::router(self.shared), &token).serve(listener).await
        })
    }
}

/// A word that nobody guesses.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let mut token = String::with_capacity(32);
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}
