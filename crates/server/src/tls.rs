//! TLS without a proxy, by the feature `tls`: a certificate chain and a key in PEM files.

use crate::app::StartError;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// The longest handshake.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections that may wait to be served.
const WAITING: usize = 256;

/// Connections after their handshake.
pub(crate) struct TlsListener {
    accepted: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Listens with this certificate and key.
    pub(crate) fn new(
        listener: TcpListener,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, StartError> {
        let wrong = |path: &Path| {
            let told = format!(
                "{} is not a PEM file with what TLS needs here",
                path.display()
            );
            StartError::Refused(told)
        };
        let chain = CertificateDer::pem_file_iter(certificate).map_err(|_| wrong(certificate))?;
        let chain: Result<Vec<_>, _> = chain.collect();
        let chain = chain.map_err(|_| wrong(certificate))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|_| wrong(key))?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|_| wrong(certificate))?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let address = listener
            .local_addr()
            .map_err(|error| StartError::Io("cannot listen".to_owned(), error))?;
        let (sender, accepted) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            loop {
                let Ok((stream, from)) = listener.accept().await else {
                    // No file descriptors, for example: later there may be some.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                // One slow handshake holds nobody up.
                tokio::spawn(async move {
                    let shaken = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        let _ = sender.send((stream, from)).await;
                    }
                });
            }
        });
        Ok(Self { accepted, address })
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}
