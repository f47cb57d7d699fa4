//! The operations of a simulation, and lists of them.

use crate::common::{DRAIN, EVERY, GRACE, Setup};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
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
    /// Machines that stopped are started, all hear each other's clocks, and every party does one
    /// thing that is due and hands over all that waits.
    Work,
    /// A mix hands over one of the batches that wait, in whatever order.
    Deliver { mix: u8, which: u8, how: How },
    /// A copy of an earlier batch comes out of the network.
    Late { which: u8 },
    /// Everybody tells everybody the time, keys and signatures, except for these, which are lost or
    /// come late.
    Keys { lost: u16, late: bool },
    /// A key or a signature that was late comes.
    Letter { which: u8 },
    /// A party stops and starts, or its whole machine does.
    Restart { party: u8, reboot: bool },
    /// The disk of a party will fail at an operation to come.
    Disk { party: u8, after: u8, fault: Fault },
    /// The wall clock of a party is ahead of the time by this many seconds from now on.
    Jump { party: u8, seconds: i64 },
    /// Only parties with the same bit hear each other from now on.
    Split { parts: u8 },
    /// Everybody hears everybody again.
    Heal,
    /// A first mix that is the adversary tells every other party that its clock is right.
    Flatter { flatters: bool },
    /// A first mix that is the adversary signs a batch.
    Forge(Forgery),
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

/// A batch that an adversary signs.
#[derive(Debug, Clone)]
pub struct Forgery {
    /// The first epoch, from the one that runs.
    pub later: i8,
    /// The number of epochs.
    pub epochs: u8,
    /// The number of records that the adversary makes up.
    pub count: u8,
    pub content: Content,
    pub twist: Twist,
    /// True if the network keeps a copy; without one the batch may be held back for good.
    pub copy: bool,
}

/// The records of a forged batch.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// What the clients sent for the window, and enough besides to be a crowd.
    Clients,
    /// One client's, among those that the adversary sealed.
    Victim,
    /// Well sealed ones of the adversary.
    Own,
    /// One of them, again and again.
    Copies,
    /// Random bytes.
    Noise,
    /// None: the word that there were too few.
    Word,
}

/// The fault in a manifest that no party may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    None,
    /// Records of another size.
    Size,
    /// As if another mix had made it.
    Hop,
    /// The last epoch before the first.
    Order,
    Collection,
    Digest,
    /// More records than anybody has.
    Many,
    /// Signed by somebody else.
    Stranger,
}

/// A chain, and whether its first mix is the adversary.
#[derive(Debug, Clone, Default)]
pub struct Cast {
    pub setup: Setup,
    pub byzantine: bool,
}

/// Chains of one to three mixes, with an analyzer or a noticeboard.
pub fn cast() -> impl Strategy<Value = Cast> {
    let below =
        prop_oneof![Just(Below::Expire), (2_u64..4).prop_map(|window| Below::Merge { window }),];
    let lifetime = prop_oneof![2 => Just(1_000.0), 1 => Just(6.0)];
    let corrupt = prop_oneof![3 => Just(0.0), 1 => Just(0.25)];
    let (board, byzantine) = (prop::bool::weighted(0.25), prop::bool::weighted(0.25));
    // Keys of a window are gone before the next one ends, or may outlive three more.
    let drain = prop_oneof![Just(DRAIN), Just(3 * EVERY + DRAIN)];
    let kind = (board, byzantine, drain);
    (1_u8..4, 3_u64..6, corrupt, 3_u64..6, below, lifetime, kind).prop_map(
        |(mixes, crowd, corrupt, epochs, below, lifetime, (board, byzantine, drain))| {
            let crowd = if corrupt > 0.0 { 3 } else { crowd };
            // A round of a board is not carried into the next.
            let below = match below {
                _ if board => Below::Expire,
                // An adversary has more to try where a window has several epochs.
                Below::Expire if byzantine && epochs > 3 => Below::Merge { window: 2 },
                below => below,
            };
            let setup = Setup {
                mixes,
                crowd,
                corrupt,
                epochs,
                below,
                lifetime,
                drain,
                board,
                ..Setup::default()
            };
            Cast { setup, byzantine }
        },
    )
}

/// Lists of operations, some of which carry a whole epoch through.
pub fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let part = prop_oneof![
        2 => vec(operation(), 1..8),
        1 => whole_epoch(),
    ];
    let jumps = prop_oneof![3 => Just(Vec::new()), 1 => vec((any::<Index>(), seconds()), 4)];
    (vec(part, 3..11), jumps).prop_map(|(parts, jumps)| {
        let mut all = parts.concat();
        // In some lists the clock of every party is set at least once.
        for (party, (place, seconds)) in (0..).zip(jumps) {
            all.insert(place.index(all.len() + 1), Operation::Jump { party, seconds });
        }
        all
    })
}

/// An epoch with a chosen number of reports, with or without disturbances: none or few of them, or
/// a crowd.
fn whole_epoch() -> impl Strategy<Value = Vec<Operation>> {
    let reports = prop_oneof![1 => 0_u8..4, 2 => 6_u8..9];
    let disturbed = || prop_oneof![2 => Just(Vec::new()), 1 => vec(operation(), 1..3)];
    // An adversary signs for the epoch that is over, and for ranges that it is a part of.
    let epochs = prop::sample::select(vec![(-1, 1), (-1, 1), (-2, 1), (-2, 2), (-3, 3)]);
    let forgeries = vec((forgery(), epochs), 1..4);
    (reports, disturbed(), forgeries, disturbed()).prop_map(|(count, early, forgeries, late)| {
        let mut all = vec![Operation::Keys { lost: 0, late: false }];
        if count > 0 {
            all.push(Operation::Upload { count, later: 0, kind: Kind::Valid });
        }
        all.extend(early);
        all.extend([Operation::Retry, Operation::Wait(Wait::Deadline)]);
        all.extend(forgeries.into_iter().map(|(forgery, (later, epochs))| {
            Operation::Forge(Forgery { later, epochs, ..forgery })
        }));
        all.extend(vec![Operation::Work; 3]);
        all.extend(late);
        all.extend(vec![Operation::Work; 3]);
        all
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let kind = prop_oneof![
        8 => Just(Kind::Valid),
        1 => Just(Kind::Noise),
        1 => Just(Kind::Altered),
        1 => Just(Kind::Nonsense),
        1 => Just(Kind::Hollow),
    ];
    let later = prop_oneof![8 => Just(0_i8), 1 => Just(1), 2 => Just(-1)];
    let wait = prop_oneof![
        4 => Just(Wait::Little),
        1 => Just(Wait::Epoch),
        2 => Just(Wait::Deadline),
        1 => Just(Wait::Far),
    ];
    let fault = prop_oneof![
        Just(Fault::FailBefore),
        Just(Fault::FailAfter),
        Just(Fault::CrashBefore),
        Just(Fault::CrashAfter),
    ];
    let clients = prop_oneof![
        9 => (1_u8..7, later.clone(), kind)
            .prop_map(|(count, later, kind)| Operation::Upload { count, later, kind }),
        2 => any::<u8>().prop_map(|which| Operation::Again { which }),
        2 => Just(Operation::Retry),
        1 => (any::<u8>(), later).prop_map(|(which, later)| Operation::Misplace { which, later }),
        1 => any::<u8>().prop_map(|which| Operation::Bulk { which }),
        1 => any::<u8>().prop_map(|bytes| Operation::Part { bytes }),
    ];
    let parties = prop_oneof![
        5 => any::<u8>().prop_map(|party| Operation::Step { party }),
        8 => Just(Operation::Work),
        5 => (any::<u8>(), any::<u8>(), how())
            .prop_map(|(mix, which, how)| Operation::Deliver { mix, which, how }),
        2 => any::<u8>().prop_map(|which| Operation::Late { which }),
        3 => (prop_oneof![3 => Just(0), 1 => any::<u16>()], any::<bool>())
            .prop_map(|(lost, late)| Operation::Keys { lost, late }),
        1 => any::<u8>().prop_map(|which| Operation::Letter { which }),
    ];
    let troubles = prop_oneof![
        2 => (any::<u8>(), prop::bool::weighted(0.3))
            .prop_map(|(party, reboot)| Operation::Restart { party, reboot }),
        6 => (any::<u8>(), 0_u8..14, fault)
            .prop_map(|(party, after, fault)| Operation::Disk { party, after, fault }),
        4 => (any::<u8>(), seconds())
            .prop_map(|(party, seconds)| Operation::Jump { party, seconds }),
        1 => any::<u8>().prop_map(|parts| Operation::Split { parts }),
        2 => Just(Operation::Heal),
        1 => any::<bool>().prop_map(|flatters| Operation::Flatter { flatters }),
        3 => forgery().prop_map(Operation::Forge),
    ];
    prop_oneof![
        16 => clients,
        3 => wait.prop_map(Operation::Wait),
        24 => parties,
        19 => troubles,
    ]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        3 => Just(How::Well),
        2 => Just(How::AnswerLost),
        1 => Just(How::RequestLost),
        1 => Just(How::Twice),
        1 => Just(How::Delayed),
        1 => any::<u16>().prop_map(How::Cut),
        1 => any::<u32>().prop_map(How::Flipped),
    ]
}

/// The seconds by which a clock is wrong: none, about as many as are tolerated, about an epoch, and
/// far too many.
fn seconds() -> impl Strategy<Value = i64> {
    let (epoch, deadline) = (EVERY as i64, (EVERY + GRACE) as i64);
    let sizes = vec![1, 5, 19, 20, 21, 39, 40, 41, 60, 61, epoch - 1, epoch, deadline, 2 * epoch];
    let far = vec![3_600, 86_400, 31_536_000];
    let size = prop_oneof![
        3 => prop::sample::select(sizes),
        2 => prop::sample::select(far),
        1 => 1_i64..200,
    ];
    let either = (size, any::<bool>()).prop_map(|(size, ahead)| if ahead { size } else { -size });
    prop_oneof![1 => Just(0), 2 => either]
}

fn forgery() -> impl Strategy<Value = Forgery> {
    let content = prop_oneof![
        3 => Just(Content::Clients),
        2 => Just(Content::Victim),
        2 => Just(Content::Own),
        1 => Just(Content::Copies),
        1 => Just(Content::Noise),
        3 => Just(Content::Word),
    ];
    let wrong = prop::sample::select(vec![
        Twist::Size,
        Twist::Hop,
        Twist::Order,
        Twist::Collection,
        Twist::Digest,
        Twist::Many,
        Twist::Stranger,
    ]);
    let twist = prop_oneof![4 => Just(Twist::None), 1 => wrong];
    let epochs = prop_oneof![3 => Just(1_u8), 1 => 2_u8..4];
    (-3_i8..3, epochs, 2_u8..9, content, twist, any::<bool>()).prop_map(
        |(later, epochs, count, content, twist, copy)| Forgery {
            later,
            epochs,
            count,
            content,
            twist,
            copy,
        },
    )
}
