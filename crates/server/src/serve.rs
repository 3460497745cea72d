//! The server itself: what it is told, how it begins and how it ends.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;

use crate::access::{self, Access};
use crate::answers::Answers;
use crate::asker::{Asker, Problem, ProblemKind};
use crate::connections::Connections;
use crate::index::Index;
use crate::jobs::Desk;
use crate::mcp::Mcp;
use crate::shared::Shared;
use crate::store::Store;
use crate::timelines::Timelines;
use crate::{api, operations, pages, timeline_pages, token};

/// No answer takes longer: who asks for more asks for progress.
const LONGEST: Duration = Duration::from_mins(10);

/// What a server is told when it is started.
#[derive(Clone, Debug)]
pub struct Options {
    pub folder: PathBuf,
    pub host: IpAddr,
    pub port: u16,
    /// What whoever asks from another machine has to show; made up if there is none.
    pub token: Option<String>,
    /// Names that the server is known by.
    pub names: Vec<String>,
    /// What a proxy puts before every path.
    pub base: String,
    pub writable: bool,
    /// A line about every request on standard error, as JSON.
    pub log: bool,
    /// Where overviews, answers and notes are kept; beside the runs by default.
    pub store: Option<PathBuf>,
    /// Bytes that kept answers may take on disk.
    pub room: u64,
    /// Bytes of memory that timelines may take.
    pub timelines: u64,
}

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    log: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

fn shared(
    options: &Options,
    asker: Arc<dyn Asker>,
    stop: watch::Receiver<bool>,
) -> Result<Arc<Shared>, Failed> {
    let store = open_store(options)?;
    let index = Arc::new(Index::new(&options.folder, Arc::clone(&asker), store)?);
    let token = options.token.clone().map_or_else(token, Ok)?;
    let desk = Desk::new();
    let timelines = Arc::new(Timelines::new(Arc::clone(&asker), desk.clone(), options.timelines));
    let access = Access { token, loopback: options.host.is_loopback(), hosts: options.names.clone() };
    Ok(Arc::new(Shared {
        answers: Arc::new(Answers::new(Arc::clone(&asker), Arc::clone(&index), desk)),
        asker,
        index,
        timelines,
        access,
        writable: options.writable,
        base: base_of(&options.base),
        begun: Instant::now(),
        stop,
    }))
}

/// With a slash before it and none after it, or nothing.
fn base_of(told: &str) -> String {
    let plain = told.trim_matches('/');
    if plain.is_empty() { String::new() } else { format!("/{plain}") }
}

/// Why a server does not start.
#[derive(Debug)]
pub enum Failed {
    /// The file that it was told to keep things in cannot be opened.
    Store { file: PathBuf, why: String },
    /// It cannot listen, or the folder cannot be looked at.
    Io(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

/// In the file that was named, or else beside the runs, where one may write, and in memory otherwise.
fn open_store(options: &Options) -> Result<Store, Failed> {
    let room = i64::try_from(options.room).unwrap_or(i64::MAX);
    if let Some(file) = &options.store {
        let failed = |error: rusqlite::Error| Failed::Store { file: file.clone(), why: error.to_string() };
        return Store::open(Some(file), room).map_err(failed);
    }
    let beside = beside(&options.folder);
    match Store::open(beside.as_deref(), room) {
        Ok(store) if beside.is_some() => Ok(store),
        _ => {
            let folder = options.folder.display();
            let _ = writeln!(
                io::stderr(),
                "{folder}: cannot be written to: notes and answers are kept in memory until the end (--store FILE keeps them)"
            );
            Store::open(None, room).map_err(|error| Failed::Io(io::Error::other(error.to_string())))
        }
    }
}

fn beside(folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".gpuscope");
    std::fs::create_dir_all(&own).ok()?;
    Some(own.join("dashboard.db"))
}

impl Server {
    pub fn bind(options: &Options, asker: Arc<dyn Asker>) -> Result<Server, Failed> {
        let listener = TcpListener::bind((options.host, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let shared = shared(options, asker, stopped)?;
        Ok(Server { listener, address, shared, stop, log: options.log })
    }

    /// What to open in a browser: it works for whoever has it.
    pub fn address(&self) -> String {
        let Access { token, loopback, hosts } = &self.shared.access;
        let base = &self.shared.base;
        if *loopback {
            format!("http://{}{base}/{token}/", self.address)
        } else {
            // By its number a server that has names is not known.
            let host = match hosts.first() {
                Some(name) => format!("{name}:{}", self.address.port()),
                None => self.address.to_string(),
            };
            format!("http://{host}{base}/?token={token}")
        }
    }

    /// What ends it; may be called from a handler of signals.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = self.stop.clone();
        move || {
            stop.send_replace(true);
        }
    }

    /// Answers until it is stopped.
    pub fn serve(self) -> io::Result<()> {
        let Server { listener, shared, stop, log, .. } = self;
        shared.index.start()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let router = router(&shared, log);
        let known = Arc::clone(&shared);
        let is_known = move |request: &hyper::Request<_>| known.access.knows(request, &known.base);
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            Connections::new(router, is_known, stop.subscribe()).serve(listener).await
        });
        shared.index.stop();
        // Work that nobody waits for any more ends by itself.
        runtime.shutdown_timeout(Duration::from_secs(1));
        served
    }
}

/// Speaks with an agent over standard input and output until it leaves.
pub fn speak(options: &Options, asker: Arc<dyn Asker>) -> Result<(), Failed> {
    let (_running, stop) = watch::channel(false);
    let shared = shared(options, asker, stop)?;
    shared.index.start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let agent = Mcp { shared: Arc::clone(&shared), address: None };
    let ended = runtime.block_on(async {
        let running = agent.serve(rmcp::transport::stdio()).await.map_err(io::Error::other)?;
        running.waiting().await.map_err(io::Error::other).map(|_| ())
    });
    shared.index.stop();
    // A read of standard input that never ends must not hold up the end.
    runtime.shutdown_background();
    Ok(ended?)
}

fn router(shared: &Arc<Shared>, log: bool) -> Router {
    let agents = {
        let shared = Arc::clone(shared);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            // Hosts and origins are checked for everything alike, before this.
            .disable_allowed_hosts();
        StreamableHttpService::new(
            move || Ok(Mcp { shared: Arc::clone(&shared), address: None }),
            Arc::new(NeverSessionManager::default()),
            config,
        )
    };
    let own = Router::new()
        .merge(api::router())
        .merge(pages::router())
        .merge(operations::router())
        .merge(timeline_pages::router())
        .route_service("/mcp", agents)
        .fallback(nothing)
        .method_not_allowed_fallback(not_so);
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    // What is checked first stands last. The address may be written anew before routes are looked up, so the routes are a
    // service of their own.
    let own = own
        .layer(compression)
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, LONGEST))
        .with_state(Arc::clone(shared));
    Router::new()
        .fallback_service(own)
        .layer(middleware::from_fn_with_state(Arc::clone(shared), access::check))
        .layer(middleware::from_fn_with_state(operations::Log(log), operations::log))
}

async fn not_so(method: Method, uri: Uri) -> Problem {
    let hint = "questions are asked by GET; notes and uploads are put";
    Problem::new(ProblemKind::NotAllowed, format!("{} takes no {method}", uri.path()), hint)
}

async fn nothing(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    let hint = "the first page is /, the interface for programs is described at /api/";
    let problem = Problem::new(ProblemKind::Missing, format!("there is no {}", uri.path()), hint);
    if !pages::is_for_people(&headers) {
        return problem.into_response();
    }
    let up = "../".repeat(uri.path().matches('/').count().saturating_sub(1));
    pages::failed(&problem, &pages::bar(&shared, &up, None, "", ""))
}
