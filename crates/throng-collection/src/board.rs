//! A board: a collection whose shuffled messages are published as they are, round by round.

use crate::file::{MAX_CROWD, MAX_EPOCHS, MAX_REPORT, chain, schedule};
use crate::section::{Lines, Section};
use crate::words::one_honest;
use crate::{Error, canonical};
use throng_account::show::Count;
use throng_wire::bytes::Writer;
use throng_wire::{Below, Chain, CollectionId, Route, Schedule, Shape};

/// A collection that asks nothing: participants post messages, and everyone sees the shuffled bag
/// of each round. The messages themselves have to hide what must stay secret; the mixes see to it
/// that no message can be traced to its sender.
///
/// ```
/// use throng_collection::Board;
///
/// let file = r#"
///     [board]
///     about = "Keys for the neighbourhood's survey"
///     messages = 66
///     payload = 18
///     crowd = 10
///     rounds = 3
///
///     [schedule]
///     start = 1000
///     every = "10m"
///     grace = "1m"
///     below = "expire"
///
///     [[mix]]
///     name = "north"
///     url = "https://north.example"
///     identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
///
///     [analyzer]
///     name = "counter"
///     url = "https://counter.example"
///     identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"
/// "#;
/// let board = Board::parse(file)?;
/// assert_eq!(Board::parse(&board.to_toml())?.id(), board.id());
/// assert_eq!(board.shape().report_bytes(), 48 + 66 * (18 + 48));
///
/// // A crowd that waits for the next round would answer questions of the last.
/// let merged = file.replace("below = \"expire\"", "below = \"merge\"\nwindow = 2");
/// assert!(Board::parse(&merged).is_err());
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// The subject, in words.
    pub about: String,
    /// Messages in every report.
    pub messages: u32,
    /// Bytes of a message.
    pub payload: u32,
    /// Reports that are shuffled together at least.
    pub crowd: u64,
    /// Rounds in all, numbered from 0.
    pub rounds: u64,
    /// The times at which rounds begin and end.
    pub schedule: Schedule,
    /// The parties that carry the messages.
    pub chain: Chain,
}

impl Board {
    /// True if a file is one of a board rather than of a question.
    pub fn is_in(text: &str) -> bool {
        Section::parse(text).is_ok_and(|file| file.has("board"))
    }

    /// Reads a board.
    ///
    /// ```text
    /// [board]      about, messages (of a report), payload (bytes of a message), crowd, rounds
    /// [schedule]   start (Unix seconds), every = "10m", grace = "1m", below = "expire"
    /// [[mix]]      name, url, identity: from 1 to 8 of them, in the order of the way
    /// [analyzer]   name, url, identity
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file = Section::parse(text)?;
        let section = file.section("board")?;
        section.known("about messages payload crowd rounds")?;
        let board = Self {
            about: section.line("about")?,
            messages: section.integer("messages", 1..=MAX_MESSAGES)? as u32,
            payload: section.integer("payload", 1..=MAX_PAYLOAD)? as u32,
            crowd: section.integer("crowd", 2..=MAX_CROWD)?,
            rounds: section.integer("rounds", 1..=MAX_EPOCHS)?,
            schedule: schedule(&file)?,
            chain: chain(&file)?,
        };
        file.known("board schedule mix analyzer")?;
        let expire = "\"expire\": a round is not carried into the next";
        file.ensure(board.schedule.below == Below::Expire, "schedule.below", expire)?;
        let bytes = board.shape().report_bytes();
        let fewer = format!("a report takes {bytes} bytes, more than {MAX_REPORT}; use fewer");
        file.ensure(bytes <= MAX_REPORT, "board.messages", fewer)?;
        Ok(board)
    }

    /// The board as a file that [`Board::parse`] reads.
    pub fn to_toml(&self) -> String {
        let mut out = Lines::default();
        out.section("[board]");
        out.text("about", &self.about).value("messages", self.messages);
        out.value("payload", self.payload).value("crowd", self.crowd);
        out.value("rounds", self.rounds);
        out.course(&self.schedule, &self.chain);
        out.0
    }

    /// The lengths of everything.
    pub fn shape(&self) -> Shape {
        let mixes = self.chain.mixes.len() as u8;
        Shape { mixes, messages: self.messages, payload: self.payload }
    }

    /// SHA-256 of [`Board::canonical`]. No question has the same.
    pub fn id(&self) -> CollectionId {
        canonical::id(canonical::BOARD, &self.canonical())
    }

    /// All fields as bytes: `about ‖ messages ‖ payload ‖ crowd ‖ rounds`, then schedule and chain
    /// as in those of a question.
    pub fn canonical(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.text(&self.about).u32(self.messages).u32(self.payload).u64(self.crowd).u64(self.rounds);
        canonical::course(&mut to, &self.schedule, &self.chain);
        to.0
    }

    /// The course of a round, and what its secrecy rests on, in plain words.
    pub fn plain(&self) -> Vec<String> {
        let honest = one_honest(&self.chain);
        let times = match self.rounds {
            1 => "In its only round".into(),
            rounds => format!("In each of {} rounds", Count(rounds)),
        };
        vec![
            format!("The board is about: {}", self.about),
            format!(
                "{times} your device posts {} messages of {} bytes, {} bytes in all, whatever is \
                 in them.",
                Count(self.messages.into()),
                Count(self.payload.into()),
                Count(self.shape().report_bytes() as u64)
            ),
            "Everybody sees all messages of a round, in no order. There is no noise in them: what \
             must stay secret is for the messages to hide."
                .into(),
            format!(
                "Among the honest reports of a round nobody can tell which messages came from one \
                 device as long as {honest}. A mix before it can throw reports away, and anybody \
                 can post, so yours may be the only honest one. The mixes and {} sign what is \
                 shown, so all see the same.",
                self.chain.analyzer.name
            ),
            format!(
                "A round in which fewer than {} reports come in time is thrown away unseen.",
                Count(self.crowd)
            ),
        ]
    }
}

impl From<&Board> for Route {
    fn from(board: &Board) -> Self {
        Self {
            id: board.id(),
            title: board.about.clone(),
            shape: board.shape(),
            quorum: board.crowd,
            epochs: board.rounds,
            schedule: board.schedule,
            chain: board.chain.clone(),
        }
    }
}

const MAX_MESSAGES: u64 = 1 << 20;
const MAX_PAYLOAD: u64 = 1 << 16;

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::collection::testing::collection;

    /// A board with the chain of [`collection`].
    pub fn board() -> Board {
        let crate::Collection { schedule, chain, .. } = collection();
        let about = "Keys".into();
        Board { about, messages: 3, payload: 18, crowd: 5, rounds: 2, schedule, chain }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::board;
    use super::*;

    #[test]
    fn a_board_survives_its_file_and_every_field_changes_its_id() {
        let board = board();
        assert_eq!(Board::parse(&board.to_toml()).as_ref(), Ok(&board));
        assert!(Board::is_in(&board.to_toml()));
        assert!(!Board::is_in(&crate::collection::testing::collection().to_toml()));
        let changes: [fn(&mut Board); 7] = [
            |board| board.about.push('!'),
            |board| board.messages += 1,
            |board| board.payload += 1,
            |board| board.crowd += 1,
            |board| board.rounds += 1,
            |board| board.schedule.every += 1,
            |board| board.chain.analyzer.name.push('!'),
        ];
        for change in changes {
            let mut other = board.clone();
            change(&mut other);
            assert_ne!(other.id(), board.id());
        }
    }

    #[test]
    fn what_takes_place_reads_well() {
        let mut board = Board { messages: 1_330, crowd: 20_000, rounds: 1, ..board() };
        let words = board.plain().join(" ");
        assert!(words.contains("In its only round your device posts 1,330 messages"), "{words}");
        assert!(words.contains("one of the mixes north and south is honest"), "{words}");
        assert!(words.contains("fewer than 20,000 reports"), "{words}");
        board.chain.mixes.pop();
        assert!(board.plain().join(" ").contains("the mix north is honest"));
    }

    #[test]
    fn what_cannot_be_is_refused_and_says_where() {
        let good = board().to_toml();
        for (from, to, place) in [
            ("messages = 3", "messages = 0", "board.messages"),
            ("payload = 18", "payload = 0", "board.payload"),
            ("crowd = 5", "crowd = 1", "board.crowd"),
            ("rounds = 2", "rounds = 0", "board.rounds"),
            ("rounds = 2", "rounds = 2\nrepeat = 1", "board.repeat"),
            ("messages = 3\npayload = 18", "messages = 100000\npayload = 500", "board.messages"),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good, "{from}");
            let error = Board::parse(&bad).unwrap_err().to_string();
            assert!(error.starts_with(place), "{error}");
        }
    }

    // A file was taken whose words spoke of "the mixes north and north".
    #[test]
    fn everyone_has_a_name_of_their_own() {
        let named = |mixes: &[&str]| {
            let chain = throng_wire::example::chain_through(mixes);
            Board::parse(&Board { chain, ..board() }.to_toml()).map_err(|error| error.to_string())
        };
        assert!(named(&["north", "south"]).is_ok());
        for (mixes, place) in
            [(["north", "north"], "mix[2].name: "), (["north", "counter"], "analyzer.name: ")]
        {
            let error = named(&mixes).unwrap_err();
            assert!(
                error.starts_with(place) && error.contains("another party is called"),
                "{error}"
            );
        }
    }
}
