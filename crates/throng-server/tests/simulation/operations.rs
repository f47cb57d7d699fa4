//! The operations of a simulation.

use crate::common::Setup;
use proptest::collection::vec;
use proptest::prelude::*;
use throng_mix::simulated::Fault;
use throng_wire::Below;

/// One event. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub enum Operation {
    /// New reports come in one body, for the current epoch or one after (or before) it.
    Upload { count: u8, later: i8, kind: Kind },
    /// An earlier report comes once more, acknowledged or not.
    Again { which: u8 },
    /// Every report that was not acknowledged comes once more.
    Retry,
    /// An earlier report comes for an epoch that is not its own.
    Misplace { which: u8, later: i8 },
    /// One body comes with a new report, an earlier one twice, and noise.
    Bulk { which: u8 },
    /// A part of a report comes.
    Part { bytes: u8 },
    /// Time passes.
    Wait(Wait),
    /// One party does what is due.
    Step { party: u8 },
    /// Every party does what is due and every mix hands over once; machines that stopped are
    /// started.
    Work,
    /// A mix hands over one of the batches that wait, in whatever order.
    Deliver { mix: u8, which: u8, how: How },
    /// A copy of an earlier batch comes out of the network.
    Late { which: u8 },
    /// Everybody tells everybody keys and signatures, except for these.
    Keys { lost: u16 },
    /// A party stops and starts.
    Restart { party: u8 },
    /// The disk of a party will fail at an operation to come.
    Disk { party: u8, after: u8, fault: Fault },
    /// The clock of a party is behind by this many seconds from now on.
    Back { party: u8, seconds: u16 },
}

/// The content of an upload.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Honest reports.
    Valid,
    /// Random bytes.
    Noise,
    /// A copy of an honest report that is not sent itself, with one bit turned over.
    Altered,
    /// Well sealed reports that no client would send.
    Nonsense,
    /// The layer for the first mix, with noise inside.
    Hollow,
}

/// The course of a hand-over.
#[derive(Debug, Clone, Copy)]
pub enum How {
    Well,
    RequestLost,
    AnswerLost,
    Twice,
    /// The batch is lost for now; [`Operation::Late`] brings it.
    Delayed,
    Cut(u16),
    Flipped(u32),
}

#[derive(Debug, Clone, Copy)]
pub enum Wait {
    Little,
    /// Time passes until the next epoch begins.
    Epoch,
    /// Time passes until the next deadline.
    Deadline,
    Far,
}

/// Chains of one to three mixes.
pub fn setup() -> impl Strategy<Value = Setup> {
    let below =
        prop_oneof![Just(Below::Expire), (2_u64..4).prop_map(|window| Below::Merge { window }),];
    let lifetime = prop_oneof![2 => Just(1_000.0), 1 => Just(6.0)];
    let corrupt = prop_oneof![3 => Just(0.0), 1 => Just(0.25)];
    (1_u8..4, 3_u64..6, corrupt, 3_u64..6, below, lifetime).prop_map(
        |(mixes, crowd, corrupt, epochs, below, lifetime)| {
            let crowd = if corrupt > 0.0 { 3 } else { crowd };
            Setup { mixes, crowd, corrupt, epochs, below, lifetime, ..Setup::default() }
        },
    )
}

/// Lists of operations, some of which carry a whole epoch through.
pub fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let kind = prop_oneof![
        8 => Just(Kind::Valid),
        1 => Just(Kind::Noise),
        1 => Just(Kind::Altered),
        1 => Just(Kind::Nonsense),
        1 => Just(Kind::Hollow),
    ];
    let later = prop_oneof![8 => Just(0_i8), 1 => Just(1), 2 => Just(-1)];
    let how = prop_oneof![
        3 => Just(How::Well),
        2 => Just(How::AnswerLost),
        1 => Just(How::RequestLost),
        1 => Just(How::Twice),
        1 => Just(How::Delayed),
        1 => any::<u16>().prop_map(How::Cut),
        1 => any::<u32>().prop_map(How::Flipped),
    ];
    let wait = prop_oneof![
        4 => Just(Wait::Little),
        2 => Just(Wait::Epoch),
        4 => Just(Wait::Deadline),
        1 => Just(Wait::Far),
    ];
    let fault = prop_oneof![
        Just(Fault::FailBefore),
        Just(Fault::FailAfter),
        Just(Fault::CrashBefore),
        Just(Fault::CrashAfter),
    ];
    let operation = prop_oneof![
        9 => (1_u8..7, later.clone(), kind)
            .prop_map(|(count, later, kind)| Operation::Upload { count, later, kind }),
        2 => any::<u8>().prop_map(|which| Operation::Again { which }),
        2 => Just(Operation::Retry),
        1 => (any::<u8>(), later).prop_map(|(which, later)| Operation::Misplace { which, later }),
        1 => any::<u8>().prop_map(|which| Operation::Bulk { which }),
        1 => any::<u8>().prop_map(|bytes| Operation::Part { bytes }),
        4 => wait.prop_map(Operation::Wait),
        5 => any::<u8>().prop_map(|party| Operation::Step { party }),
        8 => Just(Operation::Work),
        5 => (any::<u8>(), any::<u8>(), how)
            .prop_map(|(mix, which, how)| Operation::Deliver { mix, which, how }),
        2 => any::<u8>().prop_map(|which| Operation::Late { which }),
        3 => prop_oneof![3 => Just(0), 1 => any::<u16>()].prop_map(|lost| Operation::Keys { lost }),
        2 => any::<u8>().prop_map(|party| Operation::Restart { party }),
        6 => (any::<u8>(), 0_u8..14, fault)
            .prop_map(|(party, after, fault)| Operation::Disk { party, after, fault }),
        2 => (any::<u8>(), prop_oneof![Just(0_u16), 0..200_u16])
            .prop_map(|(party, seconds)| Operation::Back { party, seconds }),
    ];
    vec(operation, 10..70)
}
