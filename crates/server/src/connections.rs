//! Who is connected: not more than the process can bear, nobody for long without asking, and whoever has not shown the word
//! of the address makes room for who comes next.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Far below the number of files that any system lets a process open, and far above what a browser needs.
const MOST: usize = 128;
/// How long a request may take to arrive, and a connection to ask again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait where the system cannot take another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection that is open.
struct Guest {
    task: AbortHandle,
    /// It has shown the word of the address.
    is_known: Arc<AtomicBool>,
}

pub(crate) struct Connections {
    router: Router,
    /// How paths begin that hold the word.
    own: Arc<str>,
    room: Arc<Semaphore>,
    guests: VecDeque<Guest>,
}

impl Connections {
    pub(crate) fn new(router: Router, token: &str) -> Connections {
        Connections {
            router,
            own: Arc::from(format!("/{token}/")),
            room: Arc::new(Semaphore::new(MOST)),
            guests: VecDeque::new(),
        }
    }

    /// Answers until the process ends.
    pub(crate) async fn serve(mut self, listener: TcpListener) -> io::Result<()> {
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                if let Some(place) = self.place().await {
                    self.welcome(stream, place);
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

    /// Ends the connection that has been there for longest without the word.
    fn show_out(&mut self) {
        let stranger = self.guests.iter().position(|guest| !guest.is_known.load(Ordering::Relaxed));
        if let Some(guest) = stranger.and_then(|stranger| self.guests.remove(stranger)) {
            guest.task.abort();
        }
    }

    fn welcome(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let is_known = Arc::new(AtomicBool::new(false));
        let (own, seen) = (Arc::clone(&self.own), Arc::clone(&is_known));
        let answer = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            if request.uri().path().starts_with(&*own) {
                seen.store(true, Ordering::Relaxed);
            }
            answer.call(request)
        });
        let task = tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // A connection that breaks is its own guest's trouble.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
        self.guests.push_back(Guest { task: task.abort_handle(), is_known });
    }
}
