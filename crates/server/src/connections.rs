//! Who is connected: not more than the process can bear, nobody for long without asking, and whoever is not known makes room
//! for who comes next. When the end comes, requests under way are answered first.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;

use crate::access::Peer;

/// Far below the number of files that any system lets a process open, and far above what a browser needs.
const MOST: usize = 256;
/// How long a request may take to arrive, and a connection to ask again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long requests under way may take when the end has come.
const GRACE: Duration = Duration::from_secs(10);
/// How long to wait where the system cannot take another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection that is open.
struct Guest {
    task: AbortHandle,
    /// It has shown that it belongs here.
    is_known: Arc<AtomicBool>,
    /// Requests that wait for an answer to begin.
    asking: Arc<AtomicUsize>,
}

/// Whether a request shows that whoever sends it belongs here.
type IsKnown = Arc<dyn Fn(&hyper::Request<Incoming>) -> bool + Send + Sync>;

pub(crate) struct Connections {
    router: Router,
    is_known: IsKnown,
    room: Arc<Semaphore>,
    guests: VecDeque<Guest>,
    /// True when the end has come.
    stop: watch::Receiver<bool>,
}

impl Connections {
    pub(crate) fn new(
        router: Router,
        is_known: impl Fn(&hyper::Request<Incoming>) -> bool + Send + Sync + 'static,
        stop: watch::Receiver<bool>,
    ) -> Connections {
        Connections {
            router,
            is_known: Arc::new(is_known),
            room: Arc::new(Semaphore::new(MOST)),
            guests: VecDeque::new(),
            stop,
        }
    }

    /// Answers until the end comes.
    pub(crate) async fn serve(mut self, listener: TcpListener) -> io::Result<()> {
        let own = listener.local_addr()?;
        let mut stop = self.stop.clone();
        tokio::select! {
            () = self.accept(&listener, own) => {}
            () = ended(&mut stop) => {}
        }
        drop(listener);
        // Every connection holds one place.
        let everybody = Arc::clone(&self.room).acquire_many_owned(MOST as u32);
        let _ = tokio::time::timeout(GRACE, everybody).await;
        self.guests.iter().for_each(|guest| guest.task.abort());
        Ok(())
    }

    async fn accept(&mut self, listener: &TcpListener, own: SocketAddr) {
        loop {
            if let Ok((stream, peer)) = listener.accept().await {
                if let Some(place) = self.place().await {
                    self.welcome(stream, Peer::new(peer, own), place);
                }
            } else {
                // Too many open files, or a guest that left at the door: neither is the end.
                self.show_out();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn place(&mut self) -> Option<OwnedSemaphorePermit> {
        self.guests.retain(|guest| !guest.task.is_finished());
        if self.room.available_permits() == 0 {
            self.show_out();
        }
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Ends the connection that has been there for longest: of a stranger, else of one that waits for no answer (streams of
    /// events begin anew by themselves), else of any.
    fn show_out(&mut self) {
        let is_stranger = |guest: &Guest| !guest.is_known.load(Ordering::Relaxed);
        let is_idle = |guest: &Guest| guest.asking.load(Ordering::Relaxed) == 0;
        let first = |is: &dyn Fn(&Guest) -> bool| self.guests.iter().position(is);
        let place = first(&is_stranger).or_else(|| first(&is_idle)).unwrap_or(0);
        if let Some(guest) = self.guests.remove(place) {
            guest.task.abort();
        }
    }

    fn welcome(&mut self, stream: TcpStream, peer: Peer, place: OwnedSemaphorePermit) {
        let (is_known, asking) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (is_own, seen, asked) = (Arc::clone(&self.is_known), Arc::clone(&is_known), Arc::clone(&asking));
        let answer = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            if is_own(&request) || peer.is_owner() {
                seen.store(true, Ordering::Relaxed);
            }
            request.extensions_mut().insert(peer.clone());
            let (answer, asked) = (answer.call(request), Arc::clone(&asked));
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                let answer = answer.await;
                asked.fetch_sub(1, Ordering::Relaxed);
                answer
            }
        });
        let mut stop = self.stop.clone();
        let task = tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
            // A connection that breaks is its own guest's trouble.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = ended(&mut stop) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop(place);
        });
        self.guests.push_back(Guest { task: task.abort_handle(), is_known, asking });
    }
}

/// Until the end has come.
async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
