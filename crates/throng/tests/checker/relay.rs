//! TCP relays in front of the parties, which refuse, hold back or cut what passes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The state of the link from one party to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Everything passes.
    Open,
    /// Every connection ends at once, also those that are open.
    Refused,
    /// Nothing passes in one direction or in both; what was held back passes afterwards.
    Silent { there: bool, back: bool },
    /// Every connection is cut after so many bytes of the next piece.
    Cut { after: usize },
}

/// The links to one party, by the address they come from.
pub struct Relay {
    links: BTreeMap<IpAddr, watch::Sender<Link>>,
    /// The sources that have connected.
    heard: Arc<Mutex<BTreeSet<IpAddr>>>,
    _listening: JoinSet<()>,
}

impl Relay {
    /// Listens for these sources and passes everything on. It ends when it is dropped.
    pub fn start(
        listener: TcpListener,
        target: SocketAddr,
        sources: impl IntoIterator<Item = IpAddr>,
    ) -> Self {
        let link = |source| (source, watch::Sender::new(Link::Open));
        let links: BTreeMap<_, _> = sources.into_iter().map(link).collect();
        let seen = links.iter().map(|(source, link)| (*source, link.subscribe()));
        let seen: BTreeMap<_, _> = seen.collect();
        let heard = Arc::<Mutex<BTreeSet<IpAddr>>>::default();
        let (mut listening, hears) = (JoinSet::new(), heard.clone());
        listening.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                while connections.try_join_next().is_some() {}
                let Ok((stream, from)) = listener.accept().await else { continue };
                hears.lock().unwrap().insert(from.ip());
                if let Some(link) = seen.get(&from.ip()) {
                    connections.spawn(pass(stream, target, link.clone()));
                }
            }
        });
        Self { links, heard, _listening: listening }
    }

    /// True if this source has connected.
    pub fn heard(&self, source: IpAddr) -> bool {
        self.heard.lock().unwrap().contains(&source)
    }

    /// Sets the link from a source.
    pub fn set(&self, source: IpAddr, link: Link) {
        self.links[&source].send_replace(link);
    }
}

async fn pass(inward: TcpStream, target: SocketAddr, link: watch::Receiver<Link>) {
    if held(&mut link.clone(), |link| silent(link, true)).await == Link::Refused {
        return;
    }
    let outward = timeout(CONNECT, TcpStream::connect(target)).await;
    let Ok(Ok(outward)) = outward else { return };
    let _ = (inward.set_nodelay(true), outward.set_nodelay(true));
    let ((from, back_to), (back_from, to)) = (inward.into_split(), outward.into_split());
    let mut refused = link.clone();
    tokio::select! {
        _ = async {
            tokio::try_join!(copy(from, to, link.clone(), true), copy(back_from, back_to, link, false))
        } => {}
        _ = refused.wait_for(|link| *link == Link::Refused) => {}
    }
}

/// Copies one direction to its end; an error ends both.
async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut link: watch::Receiver<Link>,
    there: bool,
) -> Result<(), Ended> {
    let mut piece = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut piece).await.map_err(|_| Ended)?;
        let state = held(&mut link, |link| silent(link, there)).await;
        let passes = match state {
            Link::Cut { after } => read.min(after),
            _ => read,
        };
        to.write_all(&piece[..passes]).await.map_err(|_| Ended)?;
        match state {
            Link::Cut { .. } => return Err(Ended),
            _ if read == 0 => return to.shutdown().await.map_err(|_| Ended),
            _ => {}
        }
    }
}

/// Waits while the link is as told, and returns its state then.
async fn held(link: &mut watch::Receiver<Link>, wait: impl Fn(Link) -> bool) -> Link {
    // A relay that is gone holds nothing.
    link.wait_for(|link| !wait(*link)).await.map_or(Link::Refused, |link| *link)
}

fn silent(link: Link, towards: bool) -> bool {
    match link {
        Link::Silent { there, back } => {
            if towards {
                there
            } else {
                back
            }
        }
        _ => false,
    }
}

struct Ended;

const CONNECT: Duration = Duration::from_secs(2);
