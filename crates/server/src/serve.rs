//! The server itself: what it is told, how it begins and how it ends.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path as Place, RawQuery, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
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
use crate::mcp::Mcp;
use crate::shared::Shared;
use crate::store::Store;
use crate::timelines::Timelines;
use crate::{api, operations, pages, routes, token};

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

fn shared(options: &Options, asker: Arc<dyn Asker>, stop: watch::Receiver<bool>) -> io::Result<Arc<Shared>> {
    let store = open_store(options)?;
    let index = Arc::new(Index::new(&options.folder, Arc::clone(&asker), store)?);
    let token = options.token.clone().map_or_else(token, Ok)?;
    let access = Access { token, loopback: options.host.is_loopback(), hosts: options.names.clone() };
    Ok(Arc::new(Shared {
        answers: Arc::new(Answers::new(Arc::clone(&asker), Arc::clone(&index))),
        asker,
        index,
        timelines: Timelines::default(),
        access,
        writable: options.writable,
        base: options.base.trim_end_matches('/').to_owned(),
        begun: Instant::now(),
        stop,
    }))
}

/// Beside the runs, where one may write; in memory otherwise.
fn open_store(options: &Options) -> io::Result<Store> {
    let file = options.store.clone().or_else(|| beside(&options.folder));
    let room = i64::try_from(options.room).unwrap_or(i64::MAX);
    let opened = Store::open(file.as_deref(), room);
    opened.or_else(|_| Store::open(None, room)).map_err(|error| io::Error::other(error.to_string()))
}

fn beside(folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".gpuscope");
    std::fs::create_dir_all(&own).ok()?;
    Some(own.join("dashboard.db"))
}

impl Server {
    pub fn bind(options: &Options, asker: Arc<dyn Asker>) -> io::Result<Server> {
        let listener = TcpListener::bind((options.host, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let shared = shared(options, asker, stopped)?;
        Ok(Server { listener, address, shared, stop, log: options.log })
    }

    /// What to open in a browser: it works for whoever has it.
    pub fn address(&self) -> String {
        let Access { token, loopback, .. } = &self.shared.access;
        let base = &self.shared.base;
        if *loopback {
            format!("http://{}{base}/{token}/", self.address)
        } else {
            format!("http://{}{base}/?token={token}", self.address)
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
        let Server { listener, address, shared, stop, log } = self;
        shared.index.start()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let router = router(&shared, address, log);
        let known = Arc::clone(&shared);
        let is_known = move |request: &hyper::Request<_>| known.access.knows(request);
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
pub fn speak(options: &Options, asker: Arc<dyn Asker>) -> io::Result<()> {
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
    ended
}

fn router(shared: &Arc<Shared>, address: SocketAddr, log: bool) -> Router {
    let agents = {
        let address = Some(format!("http://{address}{}/", shared.base));
        let shared = Arc::clone(shared);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            // Hosts and origins are checked for everything alike, before this.
            .disable_allowed_hosts();
        StreamableHttpService::new(
            move || Ok(Mcp { shared: Arc::clone(&shared), address: address.clone() }),
            Arc::new(NeverSessionManager::default()),
            config,
        )
    };
    let own = Router::new()
        .merge(api::router())
        .merge(pages::router())
        .merge(operations::router())
        .route("/runs/{run}/timeline/{rank}/", get(timeline))
        .route("/runs/{run}/timeline/{rank}/{what}", get(timeline_part))
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

async fn not_so(method: Method, uri: Uri) -> Response {
    let hint = "questions are asked by GET; notes and uploads are put";
    let problem = Problem::new(ProblemKind::Refused, format!("{} takes no {method}", uri.path()), hint);
    let mut response = problem.into_response();
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

async fn nothing(uri: Uri) -> Problem {
    let hint = "the first page is /, the interface for programs is described at /api/";
    Problem::new(ProblemKind::Missing, format!("there is no {}", uri.path()), hint)
}

async fn timeline(
    shared: State<Arc<Shared>>,
    Place((run, rank)): Place<(String, String)>,
    query: RawQuery,
) -> Result<Response, Problem> {
    timeline_part(shared, Place((run, rank, String::new())), query).await
}

async fn timeline_part(
    State(shared): State<Arc<Shared>>,
    Place((id, rank, what)): Place<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let run = shared.run(&id)?;
    let rank = match rank.as_str() {
        "all" => None,
        number => Some(number.parse::<u32>().map_err(|_| {
            Problem::new(ProblemKind::Missing, format!("there is no rank {number}"), "a number, or all")
        })?),
    };
    let (worker, source, part, asked) =
        (Arc::clone(&shared), run.source.clone(), what.clone(), query.clone());
    let work = tokio::task::spawn_blocking(move || {
        let atlas = worker.timelines.of(&*worker.asker, &source, rank)?;
        Ok(routes::answer(&atlas, &source.name, &part, asked.as_deref()))
    });
    let failed = |_| Problem::new(ProblemKind::Bug, "the timeline met a bug in gpuscope", "please report it");
    let answered: Response = work.await.map_err(failed)??;
    if !what.is_empty() {
        return Ok(answered);
    }
    Ok(pages::with_bar(answered, &shared, &run, rank, query.as_deref()).await)
}
