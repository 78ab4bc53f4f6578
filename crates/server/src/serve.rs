//! The listeners: requests, and on loopback metrics and health.

use crate::app::{App, StartError};
use crate::clock::{Clock, StoreClock, SystemClock};
use crate::config::Config;
use crate::{api, demo, web};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Serves until a signal to stop: then no request is taken, those in progress are answered, and
/// what was taken is durable.
///
/// # Errors
/// A folder or an address in use; a store that is damaged.
pub fn serve(config: Config, told: impl Fn(&App, SocketAddr)) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| StartError::Io("cannot start".to_owned(), error))?;
    let clock: Arc<dyn Clock> = match &config.store {
        Some(_) => Arc::new(StoreClock::default()),
        None => Arc::new(SystemClock),
    };
    let app = App::start(config, clock)?;
    let served = runtime.block_on(run(&app, told));
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    app.stop();
    served
}

/// The router of everything that requests can ask for.
pub fn router(app: &Arc<App>) -> Router {
    let mut api = api::router(app);
    let pages = web::router(api.clone(), app.config.has_tls());
    let origins: Vec<HeaderValue> = app
        .config
        .cors
        .iter()
        .filter_map(|origin| origin.parse().ok())
        .collect();
    // Other origins may call the API, and never get a page.
    if !origins.is_empty() {
        let cors = CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods(tower_http::cors::Any)
            .allow_headers([
                header::AUTHORIZATION,
                header::CONTENT_TYPE,
                header::IF_NONE_MATCH,
            ])
            .expose_headers([header::ETAG]);
        api = api.layer(cors);
    }
    api.merge(pages)
}

async fn run(app: &Arc<App>, told: impl Fn(&App, SocketAddr)) -> Result<(), StartError> {
    let bind = |address: SocketAddr| async move {
        let said = |error| StartError::Io(format!("cannot listen at {address}"), error);
        TcpListener::bind(address).await.map_err(said)
    };
    let listener = bind(app.config.listen).await?;
    let address = listener
        .local_addr()
        .map_err(|error| StartError::Io("cannot listen".to_owned(), error))?;
    let (stop, stopped) = watch::channel(false);
    if let Some(ops) = app.config.ops {
        let ops = bind(ops).await?;
        let router = ops_router(app);
        tokio::spawn(async move {
            let _ = axum::serve(ops, router).await;
        });
    }
    if app.config.demo {
        demo::start(app, stopped.clone()).await?;
    }
    told(app, address);
    let stopping = stopped;
    let signal = async move {
        signalled().await;
        let _ = stop.send(true);
    };
    #[cfg(feature = "tls")]
    if let Some((certificate, key)) = &app.config.tls {
        let listener = crate::tls::TlsListener::new(listener, certificate, key)?;
        let serving = axum::serve(listener, router(app)).with_graceful_shutdown(signal);
        return until_cut(async move { serving.await }, stopping).await;
    }
    let serving = axum::serve(listener, router(app)).with_graceful_shutdown(signal);
    until_cut(async move { serving.await }, stopping).await
}

/// Serves until all connections are done, or for some seconds after the signal: streams of events
/// have no end.
async fn until_cut(
    serving: impl Future<Output = std::io::Result<()>>,
    mut stopping: watch::Receiver<bool>,
) -> Result<(), StartError> {
    let cut = async move {
        let _ = stopping.wait_for(|stop| *stop).await;
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    };
    tokio::select! {
        done = serving => done.map_err(|error| StartError::Io("cannot serve".to_owned(), error)),
        () = cut => Ok(()),
    }
}

/// Waits for a signal to stop.
async fn signalled() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = interrupt.await;
}

fn ops_router(app: &Arc<App>) -> Router {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = move |text: String| ([(header::CONTENT_TYPE, kind)], text).into_response();
    let operator = move |State(app): State<Arc<App>>| async move {
        let metrics = &app.metrics.operator;
        let (commits, _) = app.committer.commits();
        let known = metrics.commits.get();
        metrics.commits.inc_by(commits.saturating_sub(known));
        text(metrics.text())
    };
    let public = move |State(app): State<Arc<App>>| async move { text(app.metrics.public.text()) };
    let ready = |State(app): State<Arc<App>>| async move {
        if app.committer.is_ready() {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }
    };
    Router::new()
        .route("/metrics", get(operator))
        .route("/metrics/public", get(public))
        .route("/livez", get(|| async { StatusCode::OK }))
        .route("/readyz", get(ready))
        .with_state(Arc::clone(app))
}
