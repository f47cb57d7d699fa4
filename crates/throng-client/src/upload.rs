//! Between a device and the first mix: keys in, reports out.

use crate::retry::Failure;
use crate::{Client, Error, Patience, Report};
use rand_core::CryptoRng;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url, redirect};
use std::time::Duration;
use throng_mechanism::Value;
use throng_wire::{Bulletin, Route, SignedDirectory, SignedNotice};

/// Talks to the first mix of a collection. It holds no state of a device and may serve many.
///
/// ```
/// use throng_client::{Error, Uploader};
/// use throng_collection::example;
///
/// let mut collection = example::collection();
/// assert!(Uploader::new(&collection).is_ok());
///
/// // Without a scheme it is no address, and nothing is sent.
/// collection.chain.mixes[0].url = "mix.example".into();
/// assert_eq!(Uploader::new(&collection).unwrap_err(), Error::Address);
/// ```
#[derive(Debug, Clone)]
pub struct Uploader {
    http: reqwest::Client,
    /// `{url of mix 1}/v1/collections/{id}`.
    mix: String,
    /// `{url of the analyzer}/v1/collections/{id}`.
    analyzer: String,
    route: Route,
    patience: Patience,
}

impl Uploader {
    /// An uploader for a collection or a board, with the default patience.
    pub fn new(of: impl Into<Route>) -> Result<Self, Error> {
        Self::with_patience(of, Patience::default())
    }

    /// An uploader for a collection or a board, with a patience of one's own.
    pub fn with_patience(of: impl Into<Route>, patience: Patience) -> Result<Self, Error> {
        let route = of.into();
        let first = &route.chain.mixes.first().ok_or(Error::Address)?.url;
        let address = Url::parse(first).map_err(|_| Error::Address)?;
        if !matches!(address.scheme(), "http" | "https") || address.query().is_some() {
            return Err(Error::Address);
        }
        let base = |url: &str| format!("{}/v1/collections/{}", url.trim_end_matches('/'), route.id);
        let (mix, analyzer) = (base(first), base(&route.chain.analyzer.url));
        // A party answers for itself: a redirection could lead each device elsewhere.
        let http = reqwest::Client::builder()
            .timeout(patience.request)
            .connect_timeout(patience.request)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|_| Error::Address)?;
        Ok(Self { http, mix, analyzer, route, patience })
    }

    /// Fetches the keys of a window, given by its first epoch. They are signed by every party.
    pub async fn directory(&self, window: u64) -> Result<SignedDirectory, Error> {
        let url = format!("{}/directories/{window}", self.mix);
        // The length of a directory is known, and a longer one is not read to its end.
        let most = SignedDirectory::length(self.route.chain.hops().into());
        let expected = "a directory of this chain's length";
        let form = AnswerForm { most, expected, remedy: no_directory };
        let time = self.patience.request;
        let bytes = self.patience.attempt(|| self.fetch(&url, time, form)).await?;
        let directory = SignedDirectory::decode(&bytes)?;
        directory.verify(&self.route.id, window, &self.route.chain.identities())?;
        Ok(directory)
    }

    /// Fetches what a round of a board showed. It is signed by every party, and is there some time
    /// after the deadline of the round: until then the answer is [`Error::Refused`] with status
    /// 404. Status 410 says that the round was thrown away.
    pub async fn bulletin(&self, round: u64) -> Result<Bulletin, Error> {
        let url = format!("{}/bulletins/{round}", self.analyzer);
        let most = SignedNotice::length(self.route.chain.hops().into()) + BAG_BYTES;
        let expected = "a bulletin of at most 1 GiB";
        let form = AnswerForm { most, expected, remedy: no_bulletin };
        let time = self.patience.request.saturating_mul(BULLETIN_REQUESTS);
        let bytes = self.patience.attempt(|| self.fetch(&url, time, form)).await?;
        let bulletin =
            Bulletin::decode(&bytes, &self.route.id, round, &self.route.chain.identities())?;
        let fits = bulletin.notice().payload == self.route.shape.payload;
        throng_wire::Error::unless_in("bulletin", "shape", fits)?;
        Ok(bulletin)
    }

    /// Sends a report until the mix has it. The bytes are the same in every attempt, and a mix
    /// keeps one of equal reports, so it does no harm if an earlier one has arrived after all.
    pub async fn upload(&self, report: &Report) -> Result<(), Error> {
        self.upload_many(std::slice::from_ref(report)).await
    }

    /// Sends the reports of many devices, as few requests as their length allows. After an error
    /// some of them may have been taken; all may be sent again.
    pub async fn upload_many(&self, reports: &[Report]) -> Result<(), Error> {
        let ours = reports.iter().all(|report| report.collection() == self.route.id);
        throng_wire::Error::unless_in("report", "collection", ours)?;
        for epoch in reports.chunk_by(|a, b| a.epoch() == b.epoch()) {
            let each = epoch[0].as_bytes().len().max(1);
            for part in epoch.chunks((BODY_BYTES / each).max(1)) {
                let url = format!("{}/epochs/{}/reports", self.mix, part[0].epoch());
                self.patience.attempt(|| self.post(&url, part)).await?;
            }
        }
        Ok(())
    }

    /// Does everything: learns the keys if need be, randomizes and seals, sends, and lets go of the
    /// report once the mix has it. Calling again after an error, or a crash, sends the same bytes;
    /// calling again after success does nothing.
    ///
    /// The report is sent at once: [`jitter`](crate::jitter) says when that should be. The state
    /// file is written on the thread that polls.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_client::{Client, Uploader};
    /// use throng_collection::example;
    /// use throng_mechanism::Value;
    ///
    /// let mut collection = example::collection();
    /// # use std::{io::{Read, Write}, net::TcpListener, thread};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # collection.chain.mixes[0].url = format!("http://{}", listener.local_addr()?);
    /// # // A mix that gives out its directory and then takes a report.
    /// # let keys = example::directory(&collection).encode();
    /// # let (length, close) = (keys.len(), "connection: close\r\n\r\n");
    /// # let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{close}");
    /// # let taken = format!("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n{close}");
    /// # thread::spawn(move || {
    /// #     for answer in [[head.as_bytes(), &keys].concat(), taken.into_bytes()] {
    /// #         let (mut stream, _) = listener.accept().unwrap();
    /// #         let _ = stream.read(&mut [0; 4096]).unwrap();
    /// #         stream.write_all(&answer).unwrap();
    /// #     }
    /// # });
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let uploader = Uploader::new(&collection)?;
    /// let mut client = Client::new(collection)?;
    /// uploader.submit(&mut client, Value::Bit(true), 0, &mut rng).await?;
    /// assert_eq!((client.reports(), client.pending().is_none()), (1, true));
    ///
    /// // Done is done: nothing is sent a second time.
    /// uploader.submit(&mut client, Value::Bit(true), 0, &mut rng).await?;
    /// assert_eq!(client.reports(), 1);
    /// # Ok::<(), throng_client::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn submit(
        &self,
        client: &mut Client,
        value: Value<'_>,
        epoch: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Error> {
        let report = match client.report(value, epoch, rng) {
            Err(Error::NoKeys { window }) => {
                client.learn(&self.directory(window).await?, window)?;
                client.report(value, epoch, rng)
            }
            other => other,
        };
        match report {
            Ok(report) => {
                self.upload(&report).await?;
                client.acknowledge(&report)
            }
            Err(Error::Reported { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn fetch(&self, url: &str, time: Duration, form: AnswerForm) -> Result<Vec<u8>, Failure> {
        let mut response = self.http.get(url).timeout(time).send().await?;
        if response.status() != StatusCode::OK {
            return Err(failure(&response, form.remedy));
        }
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await? {
            if bytes.len() + part.len() > form.most {
                let expected = form.expected;
                return Err(Failure::Final(throng_wire::Error::Malformed { expected }.into()));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    async fn post(&self, url: &str, reports: &[Report]) -> Result<(), Failure> {
        // Asked before every attempt: a device may be switched off while another is waited for.
        if reports.iter().any(Report::is_revoked) {
            return Err(Failure::Final(Error::Disabled));
        }
        let body: Vec<u8> = reports.iter().flat_map(Report::as_bytes).copied().collect();
        let request =
            self.http.post(url).header(CONTENT_TYPE, "application/octet-stream").body(body);
        let response = request.send().await?;
        match response.status() {
            StatusCode::ACCEPTED => Ok(()),
            _ => Err(failure(&response, not_accepted)),
        }
    }
}

/// The form that an answer has to have, and the remedy for a status other than success.
#[derive(Clone, Copy)]
struct AnswerForm {
    most: usize,
    expected: &'static str,
    remedy: fn(u16) -> &'static str,
}

/// The failure that an answer stands for. Its body is not read: it is the mix's, and an error holds
/// none of it.
fn failure(response: &Response, remedy: fn(u16) -> &'static str) -> Failure {
    let after = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap_or_default());
    Failure::of_status(response.status().as_u16(), after, remedy)
}

fn no_directory(status: u16) -> &'static str {
    match status {
        404 => {
            "the keys of this window are not out yet, or the collection is unknown there: try later"
        }
        410 => "this window is over: report in the present epoch",
        _ => "check the address of the first mix in the collection",
    }
}

fn no_bulletin(status: u16) -> &'static str {
    match status {
        404 => {
            "the round is not out yet, or there is no such board there: ask again after its \
             deadline"
        }
        410 => "too few took part in the round, and it was thrown away: begin again in a later one",
        _ => "check the address of the analyzer in the board's file",
    }
}

fn not_accepted(status: u16) -> &'static str {
    match status {
        400 | 422 => {
            "the report does not have this collection's form: compare the collection files"
        }
        401 | 403 => "the mix asks for leave to report: ask who runs it",
        404 => "the mix does not know this collection or epoch: compare the collection files",
        409 | 410 | 425 => {
            "the epoch is not open there: check the clock, report in the present epoch"
        }
        413 => "too many reports at once for this mix: send fewer together",
        _ => "check the address of the first mix in the collection",
    }
}

/// Bytes of reports in one request.
const BODY_BYTES: usize = 1 << 20;
/// Bytes of all messages of a round at most.
const BAG_BYTES: usize = 1 << 30;
/// Times the patience for one request that a bulletin may take.
const BULLETIN_REQUESTS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trouble;
    use crate::testing::{World, rng};
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use throng_collection::{Board, Collection};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    const YES: Value<'_> = Value::Bit(true);
    const ACCEPTED: &str =
        "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const SLOWER: &str = "HTTP/1.1 429 Slower\r\nretry-after: 1\r\ncontent-length: 0\r\n\
                          connection: close\r\n\r\n";
    /// Hangs up without an answer.
    const DROP: &str = "";

    /// A mix that answers by a script, one connection after the other, and then listens no more.
    struct Mix {
        url: String,
        requests: Arc<Mutex<Vec<Request>>>,
    }

    /// The first line and the body.
    type Request = (String, Vec<u8>);

    impl Mix {
        async fn new(script: Vec<Vec<u8>>) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let requests = Arc::<Mutex<Vec<_>>>::default();
            let seen = requests.clone();
            tokio::spawn(async move {
                for answer in script {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let request = read(&mut stream).await.unwrap();
                    seen.lock().unwrap().push(request);
                    stream.write_all(&answer).await.unwrap();
                }
            });
            Self { url, requests }
        }

        async fn scripted(script: &[&str]) -> Self {
            Self::new(script.iter().map(|answer| answer.as_bytes().to_vec()).collect()).await
        }

        fn seen(&self) -> Vec<Request> {
            self.requests.lock().unwrap().clone()
        }

        /// A collection whose first mix this is.
        fn world(&self) -> World {
            let mut world = World::of_bits();
            world.collection.chain.mixes[0].url = self.url.clone();
            world
        }
    }

    async fn read(stream: &mut TcpStream) -> io::Result<Request> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
                break end + 4;
            }
            stream.read_buf(&mut bytes).await?;
        };
        let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        while bytes.len() < head + length {
            stream.read_buf(&mut bytes).await?;
        }
        let line = text.lines().next().unwrap_or_default().to_owned();
        Ok((line, bytes.split_off(head)))
    }

    /// Fails to compile for a future that cannot be spawned.
    fn assert_send(_: &impl Send) {}

    fn ok(body: &[u8]) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    fn uploader(world: &World) -> Uploader {
        let patience = Patience {
            attempts: 5,
            first: Duration::from_millis(1),
            most: Duration::from_millis(20),
            request: Duration::from_secs(5),
        };
        Uploader::with_patience(&world.collection, patience).unwrap()
    }

    #[tokio::test]
    async fn a_report_is_sent_until_it_is_taken_and_is_the_same_every_time() {
        let mix = Mix::scripted(&[BUSY, DROP, SLOWER, ACCEPTED]).await;
        let world = mix.world();
        let report = world.client().report(YES, 0, &mut rng(1)).unwrap();
        uploader(&world).upload(&report).await.unwrap();
        let id = world.collection.id();
        let line = format!("post /v1/collections/{id}/epochs/0/reports http/1.1");
        assert_eq!(mix.seen(), vec![(line, report.as_bytes().to_vec()); 4]);
    }

    #[tokio::test]
    async fn attempts_are_bounded() {
        let mix = Mix::scripted(&[BUSY; 9]).await;
        let world = mix.world();
        let report = world.client().report(YES, 0, &mut rng(1)).unwrap();
        let error = uploader(&world).upload(&report).await.unwrap_err();
        assert_eq!(error, Error::Unreachable { attempts: 5, trouble: Trouble::Status(503) });
        assert_eq!(mix.seen().len(), 5);

        let nobody = Mix::scripted(&[]).await.world();
        tokio::task::yield_now().await;
        let report = nobody.client().report(YES, 0, &mut rng(1)).unwrap();
        let error = uploader(&nobody).upload(&report).await.unwrap_err();
        assert_eq!(error, Error::Unreachable { attempts: 5, trouble: Trouble::Connection });
    }

    #[tokio::test]
    async fn a_silent_mix_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut world = World::of_bits();
        world.collection.chain.mixes[0].url = format!("http://{}", listener.local_addr().unwrap());
        let request = Duration::from_millis(50);
        let patience = Patience { attempts: 1, request, ..Patience::default() };
        let uploader = Uploader::with_patience(&world.collection, patience).unwrap();
        let error = uploader.directory(0).await.unwrap_err();
        assert_eq!(error, Error::Unreachable { attempts: 1, trouble: Trouble::Time });
    }

    #[tokio::test]
    async fn a_refusal_is_final_and_says_what_to_do() {
        for (status, word) in
            [(404, "collection"), (409, "epoch"), (413, "fewer"), (302, "address")]
        {
            let answer = format!(
                "HTTP/1.1 {status} No\r\nlocation: /\r\ncontent-length: 0\r\n\
                 connection: close\r\n\r\n"
            );
            let mix = Mix::scripted(&[&answer, ACCEPTED]).await;
            let world = mix.world();
            let mut client = world.client();
            let refused = uploader(&world).submit(&mut client, YES, 0, &mut rng(1)).await;
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Refused { status: s, .. } if s == status));
            assert!(error.to_string().contains(word), "{error}");
            assert_eq!(mix.seen().len(), 1);
            // It is still there for another try.
            assert_eq!(client.pending().unwrap().as_bytes(), mix.seen()[0].1);
        }
    }

    #[tokio::test]
    async fn submitting_learns_the_keys_sends_and_lets_go() {
        let mut world = World::of_bits();
        world.collection.schedule.below = throng_wire::Below::Merge { window: 4 };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        world.collection.chain.mixes[0].url = format!("http://{}", listener.local_addr().unwrap());
        let directory = world.directory(4).encode();
        let server = tokio::spawn(async move {
            let mut lines = Vec::new();
            for answer in [ok(&directory), ACCEPTED.into(), ACCEPTED.into()] {
                let (mut stream, _) = listener.accept().await.unwrap();
                lines.push(read(&mut stream).await.unwrap().0);
                stream.write_all(&answer).await.unwrap();
            }
            lines
        });
        let uploader = uploader(&world);
        let mut client = Client::new(world.collection.clone()).unwrap();
        for (epoch, seed) in [(5, 1), (5, 2), (6, 3), (6, 4)] {
            let mut rng = rng(seed);
            let submitting = uploader.submit(&mut client, YES, epoch, &mut rng);
            assert_send(&submitting);
            submitting.await.unwrap();
            assert!(client.pending().is_none());
        }
        assert_eq!(client.reports(), 2);
        let id = world.collection.id();
        let base = format!("/v1/collections/{id}");
        let expected = [
            format!("get {base}/directories/4 http/1.1"),
            format!("post {base}/epochs/5/reports http/1.1"),
            format!("post {base}/epochs/6/reports http/1.1"),
        ];
        assert_eq!(server.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn what_is_not_a_directory_signed_by_all_is_refused() {
        let keys = World::of_bits().directory(0).encode();
        for body in [vec![], b"no".to_vec(), keys, vec![0; 1 << 20]] {
            let mix = Mix::new(vec![ok(&body)]).await;
            // Its address is part of the collection, so the keys above are another collection's.
            let world = mix.world();
            let error = uploader(&world).directory(0).await.unwrap_err();
            assert!(matches!(error, Error::Wire(_)), "{error}");
        }
    }

    #[tokio::test]
    async fn a_bulletin_is_taken_if_everyone_signed_it_and_else_refused() {
        let bag = throng_wire::Bag::new(2, b"kauaka").unwrap();
        let board = |analyzer: &Mix| {
            let Collection { schedule, mut chain, .. } = World::of_bits().collection;
            chain.analyzer.url = analyzer.url.clone();
            let about = "Talk".into();
            Board { about, messages: 1, payload: 2, crowd: 2, rounds: 2, schedule, chain }
        };
        let hasty = Patience { attempts: 1, ..Patience::default() };
        let fetch = async |change: fn(&mut Vec<u8>), round: u64| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut analyzer = Mix { url: String::new(), requests: Arc::default() };
            analyzer.url = format!("http://{}", listener.local_addr().unwrap());
            let board = board(&analyzer);
            let notice = throng_wire::Notice::of(board.id(), round, 3, &bag);
            let identities = World::of_bits().identities;
            let signatures = identities.iter().map(|party| notice.cosign(party)).collect();
            let mut bytes = SignedNotice { notice, signatures }.encode();
            bytes.extend_from_slice(bag.as_bytes());
            change(&mut bytes);
            tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                read(&mut stream).await.unwrap();
                stream.write_all(&ok(&bytes)).await.unwrap();
            });
            Uploader::with_patience(&board, hasty).unwrap().bulletin(1).await
        };
        assert_eq!(fetch(|_| (), 1).await.unwrap().bag(), &bag);
        let foreign = throng_wire::Error::Foreign { what: "bulletin", scope: "round" };
        assert_eq!(fetch(|_| (), 0).await, Err(foreign.into()));
        let unsigned: fn(&mut Vec<u8>) = |bytes| bytes[100] ^= 1;
        assert!(matches!(fetch(unsigned, 1).await, Err(Error::Wire(_))));
        let altered: fn(&mut Vec<u8>) = |bytes| *bytes.last_mut().unwrap() ^= 1;
        assert!(matches!(fetch(altered, 1).await, Err(Error::Wire(_))));
        assert!(matches!(fetch(Vec::clear, 1).await, Err(Error::Wire(_))));
    }

    #[tokio::test]
    async fn a_round_that_is_not_out_or_was_thrown_away_says_so() {
        for (status, word) in [(404, "not out yet"), (410, "thrown away"), (403, "address")] {
            let head =
                format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let analyzer = Mix::scripted(&[&head]).await;
            let Collection { schedule, mut chain, .. } = World::of_bits().collection;
            chain.analyzer.url = analyzer.url.clone();
            let about = "Talk".into();
            let board =
                Board { about, messages: 1, payload: 2, crowd: 2, rounds: 2, schedule, chain };
            // However long, a patience overflows nothing.
            let endless = Patience { request: Duration::MAX, ..Patience::default() };
            let uploader = Uploader::with_patience(&board, endless).unwrap();
            let error = uploader.bulletin(0).await.unwrap_err();
            assert!(matches!(error, Error::Refused { status: s, .. } if s == status));
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[tokio::test]
    async fn many_reports_go_in_few_requests() {
        let mix = Mix::scripted(&[ACCEPTED; 3]).await;
        let world = mix.world();
        let each = world.collection.shape().report_bytes();
        let full = BODY_BYTES / each;
        let one = world.client().report(YES, 0, &mut rng(1)).unwrap();
        let mut later = world.client();
        later.learn(&world.directory(1), 1).unwrap();
        let mut reports = vec![one; full + 2];
        reports.push(later.report(YES, 1, &mut rng(2)).unwrap());
        uploader(&world).upload_many(&reports).await.unwrap();
        let lengths: Vec<usize> = mix.seen().iter().map(|(_, body)| body.len()).collect();
        assert_eq!(lengths, [full * each, 2 * each, each]);
        uploader(&world).upload_many(&[]).await.unwrap();

        let foreign = World::of_bits().client().report(YES, 0, &mut rng(3)).unwrap();
        let refused = uploader(&world).upload(&foreign).await.unwrap_err();
        assert!(matches!(refused, Error::Wire(throng_wire::Error::Foreign { .. })));
    }

    /// A mix that listens and does not answer, with an uploader to it and a device.
    async fn silent_mix() -> (TcpListener, Uploader, Client) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut world = World::of_bits();
        world.collection.chain.mixes[0].url = format!("http://{}", listener.local_addr().unwrap());
        (listener, uploader(&world), world.client())
    }

    #[tokio::test]
    async fn the_off_switch_sends_nothing() {
        let (listener, uploader, mut client) = silent_mix().await;
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        client.disable().unwrap();
        assert_eq!(uploader.upload(&report).await.unwrap_err(), Error::Disabled);
        for epoch in [0, 1] {
            let refused = uploader.submit(&mut client, YES, epoch, &mut rng(2)).await;
            assert_eq!(refused.unwrap_err(), Error::Disabled);
        }
        client.enable().unwrap();
        assert_eq!(uploader.upload(&report).await.unwrap_err(), Error::Disabled);
        // Connections wait in the listener's queue: there are none.
        let nobody = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(nobody.is_err());
    }

    #[tokio::test]
    async fn switching_off_between_attempts_ends_them() {
        let (listener, uploader, mut client) = silent_mix().await;
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        let upload = tokio::spawn(async move { uploader.upload(&report).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        read(&mut stream).await.unwrap();
        client.disable().unwrap();
        stream.write_all(BUSY.as_bytes()).await.unwrap();
        assert_eq!(upload.await.unwrap().unwrap_err(), Error::Disabled);
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for url in ["", "mix.example", "ftp://mix.example", "http://", "http://mix.example?a"] {
            let mut world = World::of_bits();
            world.collection.chain.mixes[0].url = url.into();
            assert_eq!(Uploader::new(&world.collection).unwrap_err(), Error::Address, "{url}");
        }
        let mut world = World::of_bits();
        world.collection.chain.mixes.clear();
        assert_eq!(Uploader::new(&world.collection).unwrap_err(), Error::Address);
    }
}
