//! One timeline, served on loopback to whoever has its address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::get;
use gpuscope_analysis::timeline::Atlas;
use tokio::sync::watch;

use crate::connections::Connections;
use crate::{guard, routes, token};

#[derive(Debug)]
struct Viewed {
    atlas: Atlas,
    title: String,
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct ViewServer {
    listener: TcpListener,
    viewed: Arc<Viewed>,
    token: String,
    address: SocketAddr,
}

impl ViewServer {
    /// On a port of loopback; 0 for any that is free.
    pub fn bind(atlas: Atlas, title: &str, port: u16) -> io::Result<ViewServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let viewed = Arc::new(Viewed { atlas, title: title.to_owned() });
        Ok(ViewServer { listener, viewed, token: token()?, address })
    }

    /// What to open in a browser.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let own = format!("/{}/", self.token);
        let router = Router::new()
            .route(&own, get(page))
            .route(&format!("{own}{{what}}"), get(part))
            .layer(middleware::from_fn(guard::own_host_only))
            .with_state(self.viewed);
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let (_running, stop) = watch::channel(false);
            let is_known = move |request: &hyper::Request<_>| request.uri().path().starts_with(&own);
            Connections::new(router, is_known, stop).serve(listener).await
        })
    }
}

async fn page(State(viewed): State<Arc<Viewed>>) -> Response {
    routes::answer(&viewed.atlas, &viewed.title, "", None)
}

async fn part(
    State(viewed): State<Arc<Viewed>>,
    Path(what): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    routes::answer(&viewed.atlas, &viewed.title, &what, query.as_deref())
}
