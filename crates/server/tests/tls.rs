//! TLS without a proxy: `cargo test -p hushstream-server --features tls --test tls`. The
//! certificate and its key in `tls-files` are of these tests, and of nobody else.

#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use hushstream_server::{Config, StartError, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

fn file(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("tls-files").join(name)
}

fn config(folder: &Path, certificate: &str, key: &str) -> Config {
    let mut config = Config::new(folder.to_owned());
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.ops = None;
    config.tls = Some((file(certificate), file(key)));
    config
}

/// One request over TLS of this version, by a client that trusts these certificates.
fn ask(
    address: SocketAddr,
    version: &'static SupportedProtocolVersion,
    roots: RootCertStore,
    request: &str,
) -> std::io::Result<String> {
    let config = ClientConfig::builder_with_protocol_versions(&[version])
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut stream = StreamOwned::new(connection, stream);
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    // The server may close without saying so.
    let read = stream.read_to_end(&mut answer);
    if answer.is_empty() {
        read?;
    }
    assert_eq!(stream.conn.protocol_version(), Some(version.version));
    Ok(String::from_utf8(answer).unwrap())
}

fn trusted() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(file("certificate.pem")).unwrap();
    roots.add(certificate).unwrap();
    roots
}

#[test]
fn requests_are_answered_over_tls_and_in_no_other_way() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "certificate.pem", "key.pem");
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        serve(config, move |_, address| {
            tell.send(address).unwrap();
        })
    });
    let address: SocketAddr = told.recv_timeout(Duration::from_secs(120)).unwrap();
    // Some that begin a handshake and say no more hold nobody up.
    let silent = [(); 8].map(|()| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[22, 3, 1]).unwrap();
        stream
    });
    let live = "GET /v1/livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let answer = ask(address, version, trusted(), live).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // Who does not know the certificate is not talked to.
    let stranger = ask(
        address,
        &rustls::version::TLS13,
        RootCertStore::empty(),
        live,
    );
    assert!(stranger.is_err());
    // A token, a request with a body, and an answer.
    let token = std::fs::read_to_string(folder.path().join("operator.token")).unwrap();
    let body = r#"{"epsilon": 1, "delta": 1e-6, "adjacency": "replace-one"}"#;
    let made = format!(
        "PUT /v1/datasets/people HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: \
         Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    let answer = ask(address, &rustls::version::TLS13, trusted(), &made).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    // The cookie of a page is for TLS only.
    let form = format!("token={}", token.trim());
    let sign_in = format!(
        "POST /sign-in HTTP/1.1\r\nhost: localhost\r\norigin: https://localhost\r\nconnection: \
         close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: \
         {}\r\n\r\n{form}",
        form.len()
    );
    let answer = ask(address, &rustls::version::TLS13, trusted(), &sign_in).unwrap();
    let cookie = answer
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"));
    assert!(
        cookie.is_some_and(|cookie| cookie.ends_with("; Secure")),
        "{answer}"
    );
    // Without TLS: no answer of HTTP.
    let mut plain = TcpStream::connect(address).unwrap();
    plain
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    plain.write_all(live.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    drop(silent);
}

#[test]
fn files_that_are_no_certificate_and_key_are_refused() {
    for (certificate, key, wrong) in [
        ("key.pem", "key.pem", "key.pem"),
        ("certificate.pem", "certificate.pem", "certificate.pem"),
        ("nothing.pem", "key.pem", "nothing.pem"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), certificate, key);
        let told = serve(config, |_, _| ());
        let Err(StartError::Refused(told)) = told else {
            panic!("{certificate} and {key} were taken")
        };
        assert!(told.contains(wrong), "{told}");
    }
}
