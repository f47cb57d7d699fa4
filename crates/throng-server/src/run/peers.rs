//! The other parties, as a client sees them.
//!
//! Answers are read up to a size and within a time, and the caller checks them.

use crate::Error;
use crate::config::wrong;
use crate::pieces::pieces;
use reqwest::header::DATE;
use reqwest::{Body, Certificate, Client, RequestBuilder, Response, StatusCode, Url, redirect};
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};
use throng_mix::store::Blob;
use tokio::select;
use tokio::time::sleep;

/// The client that asks the other parties and sends to them.
#[derive(Clone)]
pub(crate) struct Peers {
    http: Client,
    patience: Duration,
}

/// The reason why there is no answer. It holds no address, and nothing of what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody is there, or not who should be.
    #[error("the party cannot be reached")]
    Unreachable,
    /// Nothing came for too long.
    #[error("the party takes too long")]
    Slow,
    /// The connection ended, or more came than there can be.
    #[error("the party's answer broke off or makes no sense")]
    Broken,
    /// The status is another than 200.
    #[error("the party answers with status {0}")]
    Status(u16),
}

/// The address in the error is left out.
impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::Slow
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::Broken
        }
    }
}

impl Peers {
    /// A client that trusts the given roots in PEM alone, or those of the system.
    pub fn new(authority: Option<&[u8]>, patience: Duration) -> Result<Self, Error> {
        let mut http = Client::builder()
            // Parties answer for themselves, at the address that everybody knows.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(patience);
        if let Some(authority) = authority {
            let roots = Certificate::from_pem_bundle(authority).ok();
            let roots = roots.filter(|roots| !roots.is_empty());
            let roots = roots.ok_or_else(|| wrong("peers.ca", "a PEM file with certificates"))?;
            http = http.tls_certs_only(roots);
        }
        let http = http.build().map_err(|_| wrong("peers", "TLS cannot be set up here"))?;
        Ok(Self { http, patience })
    }

    /// Asks for a short answer.
    pub async fn get(&self, url: &str, most: usize) -> Result<Vec<u8>, Failure> {
        short(self.http.get(url).timeout(self.patience), most).await
    }

    /// Asks whether the party is there, and returns the time that it says it is, if it says one.
    pub async fn time(&self, url: &str, most: usize) -> Result<Option<u64>, Failure> {
        let answer = self.http.get(url).timeout(self.patience).send().await?;
        let said = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
        let date = said.and_then(|date| httpdate::parse_http_date(date).ok());
        let time = date.and_then(|date| Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs()));
        read(answer, most).await.map(|_| time)
    }

    /// Sends a few bytes and returns a short answer.
    pub async fn tell(&self, url: &str, bytes: Vec<u8>, most: usize) -> Result<Vec<u8>, Failure> {
        short(self.http.put(url).body(bytes).timeout(self.patience), most).await
    }

    /// Sends a beginning and then a blob, without ever holding all of it, and returns a short
    /// answer.
    pub async fn put(
        &self,
        url: &str,
        start: Vec<u8>,
        blob: Blob,
        most: usize,
    ) -> Result<Vec<u8>, Failure> {
        let (body, feeding) = pieces(start, blob, AHEAD, self.patience);
        let request = self.http.put(url).body(Body::wrap_stream(body));
        let stuck = async {
            // When all is sent, the other side still has to bring it to its disk.
            if feeding.await {
                sleep(self.patience * WRITING).await;
            }
        };
        select! {
            answer = short(request, most) => answer,
            () = stuck => Err(Failure::Slow),
        }
    }
}

/// True if messages to an address pass other machines without TLS.
///
/// ```
/// use throng_server::in_the_open;
///
/// assert!(in_the_open("http://mix.example"));
/// assert!(!in_the_open("https://mix.example") && !in_the_open("http://[::1]:8080"));
/// ```
pub fn in_the_open(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    url.scheme() == "http" && !here
}

/// Sends a request and returns the answer, which has at most this many bytes.
async fn short(request: RequestBuilder, most: usize) -> Result<Vec<u8>, Failure> {
    read(request.send().await?, most).await
}

/// Reads an answer of at most this many bytes.
async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    if response.status() != StatusCode::OK {
        return Err(Failure::Status(response.status().as_u16()));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if bytes.len() + piece.len() > most {
            return Err(Failure::Broken);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The time that the other side has to write the end of a batch, in multiples of the patience.
const WRITING: u32 = 10;

/// The number of pieces on their way.
const AHEAD: usize = 16;
