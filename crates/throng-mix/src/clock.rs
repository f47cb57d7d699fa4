//! Whether the clock of a party can be believed.
//!
//! What a party does at a deadline cannot be taken back, so it has to know that the deadline has
//! come. It has three witnesses: the clock on the wall, a steady clock that only counts seconds
//! since the machine was started, and the clocks of the other parties, which it asks now and then.
//!
//! ```text
//! believed       more than half of the others agree with it;
//!                or it has kept step with the steady clock since it was last believed, and
//!                fewer than half of all who were heard, this party included, differ;
//!                or it has kept step for a day, and no more of the others differ than agree:
//!                after a jump, at least one agrees
//! unconfirmed    nothing is known yet since the machine was started: reports are taken, and
//!                nothing is closed, taken from others or destroyed
//! doubted        the wall jumped, or the others differ: nothing is taken, closed or destroyed
//! ```
//!
//! A doubt ends by itself: when the wall is back in step, or when others agree with it.

use std::collections::BTreeMap;
use std::fmt;

/// One look at the two clocks of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Seconds since 1970, as the wall clock says.
    pub wall: u64,
    /// Seconds since some moment before the start of the party, counted steadily.
    pub steady: u64,
}

/// What is to be thought of a wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It is right, as far as can be known.
    Believed,
    /// Nobody has said yet whether it is right.
    Unconfirmed,
    /// It moved by this many seconds against the steady clock, and the others do not agree.
    Jumped {
        /// The seconds, forward or back.
        seconds: i64,
    },
    /// The other parties differ from it.
    Outvoted {
        /// The number of parties that differ.
        others: usize,
    },
}

impl Judgement {
    /// True if something contradicts the clock.
    pub fn is_doubt(self) -> bool {
        matches!(self, Self::Jumped { .. } | Self::Outvoted { .. })
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Believed => f.write_str("the clock is believed"),
            Self::Unconfirmed => {
                f.write_str("no other party has confirmed the clock since the machine was started")
            }
            Self::Jumped { seconds } => write!(
                f,
                "the clock jumped by {seconds} seconds; set it right, and all goes on by itself"
            ),
            Self::Outvoted { others } => write!(
                f,
                "the clocks of {others} other parties differ by more than {TOLERANCE} seconds; \
                 compare with a time server, and all goes on by itself"
            ),
        }
    }
}

/// The judge of one party's clock in one collection, whose other parties are its witnesses.
///
/// ```
/// use throng_mix::{Judgement, Reading, Timekeeper};
///
/// // A chain of three, just started: two others.
/// let mut clock = Timekeeper::new(2, None);
/// let at = |wall, steady| Reading { wall, steady };
/// assert_eq!(clock.judge(at(5_000, 10)), Judgement::Unconfirmed);
/// clock.hear(2, 5_001, 10);
/// clock.hear(3, 4_999, 10);
/// assert_eq!(clock.judge(at(5_000, 10)), Judgement::Believed);
///
/// // The wall jumps by a day for some seconds. Nothing comes due meanwhile.
/// assert_eq!(clock.judge(at(91_405, 15)), Judgement::Jumped { seconds: 86_400 });
/// assert_eq!(clock.due(), 5_000);
/// assert_eq!(clock.judge(at(5_006, 16)), Judgement::Believed);
/// assert_eq!(clock.due(), 5_006);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Timekeeper {
    /// The number of other parties.
    others: usize,
    /// The wall's lead over the steady clock when it was last believed.
    lead: Option<i64>,
    /// The wall's lead at some look, and the steady time since when it has kept that.
    kept: Option<(i64, u64)>,
    /// The others' lead over the steady clock of this machine, and when they were heard, by hop.
    heard: BTreeMap<u8, (i64, u64)>,
    /// The latest time that was believed.
    due: u64,
}

impl Timekeeper {
    /// A judge with this many other parties. `lead` is the wall's lead over the steady clock when
    /// it was last believed, if that is known and the machine was not restarted since.
    pub fn new(others: usize, lead: Option<i64>) -> Self {
        Self { others, lead, kept: None, heard: BTreeMap::new(), due: 0 }
    }

    /// Takes the time that another party told, and the steady time at which it was heard.
    pub fn hear(&mut self, hop: u8, time: u64, steady: u64) {
        self.heard.insert(hop, (lead(time, steady), steady));
    }

    /// Judges the wall clock. What is believed is what comes due.
    pub fn judge(&mut self, at: Reading) -> Judgement {
        let judgement = self.look(at);
        if judgement == Judgement::Believed {
            self.due = at.wall;
        }
        judgement
    }

    fn look(&mut self, at: Reading) -> Judgement {
        let own = lead(at.wall, at.steady);
        let near = |other: i64| other.abs_diff(own) <= TOLERANCE;
        let (kept, since) = self.kept.filter(|(lead, _)| near(*lead)).unwrap_or((own, at.steady));
        self.kept = Some((kept, since));
        let patient = at.steady.saturating_sub(since) >= ALONE;
        let fresh =
            self.heard.values().filter(|(_, heard)| at.steady.saturating_sub(*heard) <= FRESH);
        let (mut agree, mut differ) = (0, 0);
        for (other, _) in fresh {
            if near(*other) { agree += 1 } else { differ += 1 }
        }
        if 2 * agree > self.others {
            self.lead = Some(own);
            return Judgement::Believed;
        }
        // Whoever is away or lies does not keep keys alive for ever.
        let alone = self.lead.is_none() || agree > 0;
        if patient && alone && differ <= agree {
            self.lead = Some(own);
            return Judgement::Believed;
        }
        match self.lead {
            Some(lead) if near(lead) && agree + 1 > differ => Judgement::Believed,
            Some(lead) if !near(lead) => Judgement::Jumped { seconds: own - lead },
            Some(_) => Judgement::Outvoted { others: differ },
            None if differ > agree => Judgement::Outvoted { others: differ },
            None => Judgement::Unconfirmed,
        }
    }

    /// The latest time that was believed: what is due then may be done, whatever the wall says.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The wall's lead over the steady clock when it was last believed.
    pub fn lead(&self) -> Option<i64> {
        self.lead
    }

    /// The seconds by which another party's clock was ahead when it was last heard.
    pub fn ahead(&self, hop: u8, at: Reading) -> Option<i64> {
        self.heard.get(&hop).map(|(other, _)| other - lead(at.wall, at.steady))
    }
}

fn lead(wall: u64, steady: u64) -> i64 {
    wall as i64 - steady as i64
}

/// The seconds by which two clocks may differ and still agree. A clock that was believed, and has
/// kept step since, is at most twice as far from those that agreed with it.
pub const TOLERANCE: u64 = 20;

/// The seconds for which a told time counts.
const FRESH: u64 = 600;

/// The seconds for which a clock has to keep step to be believed though too few confirm it.
const ALONE: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    fn at(wall: u64, steady: u64) -> Reading {
        Reading { wall, steady }
    }

    fn confirmed(others: usize) -> Timekeeper {
        let mut clock = Timekeeper::new(others, None);
        for hop in 0..others {
            clock.hear(hop as u8, NOW, 100);
        }
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Believed);
        clock
    }

    #[test]
    fn a_jump_is_doubted_until_it_is_undone_or_the_others_agree() {
        for seconds in [-30_000_000, -86_400, -21, 21, 3_600, 86_400, 31_536_000_i64] {
            let mut clock = confirmed(2);
            let jumped = |steady: u64| {
                at((NOW + steady - 100).checked_add_signed(seconds).unwrap_or(0), steady)
            };
            assert!(clock.judge(jumped(101)).is_doubt(), "{seconds}");
            assert_eq!(clock.due(), NOW);
            assert_eq!(clock.judge(at(NOW + 2, 102)), Judgement::Believed);
            assert_eq!(clock.due(), NOW + 2);
            // Both others say so too: this party's clock had been wrong all the time.
            assert!(clock.judge(jumped(103)).is_doubt());
            clock.hear(0, jumped(103).wall, 103);
            assert!(clock.judge(jumped(103)).is_doubt(), "one of two is not enough");
            clock.hear(1, jumped(103).wall, 103);
            assert_eq!(clock.judge(jumped(104)), Judgement::Believed);
        }
    }

    #[test]
    fn a_little_is_no_jump_and_many_little_ones_are() {
        let mut clock = confirmed(2);
        assert_eq!(clock.judge(at(NOW + 20, 100)), Judgement::Believed);
        assert_eq!(clock.judge(at(NOW - 20, 100)), Judgement::Believed);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Believed);
        // Steps of 15 seconds, each of which would pass, while nobody can be asked.
        let steps =
            (1..20).map(|step| clock.judge(at(NOW + 15 * step + 700 * step, 100 + 700 * step)));
        assert_eq!(steps.filter(|judgement| *judgement == Judgement::Believed).count(), 1);
        assert_eq!(clock.due(), NOW + 715);
    }

    #[test]
    fn the_many_outvote_the_one() {
        // Of three parties one differs: it doubts itself, and the other two go on.
        let mut clock = confirmed(2);
        clock.hear(0, NOW + 500, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Believed);
        clock.hear(1, NOW + 500, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Outvoted { others: 2 });
        // Of two that differ nobody knows who is right.
        let mut clock = confirmed(1);
        clock.hear(0, NOW - 500, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Outvoted { others: 1 });
        // What was heard long ago does not count.
        assert_eq!(clock.judge(at(NOW + 601, 701)), Judgement::Believed);
    }

    #[test]
    fn after_a_start_more_than_half_of_the_others_have_to_agree() {
        let mut clock = Timekeeper::new(2, None);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Unconfirmed);
        clock.hear(0, NOW, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Unconfirmed);
        assert_eq!(clock.due(), 0);
        clock.hear(1, NOW + 21, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Unconfirmed);
        clock.hear(0, NOW + 21, 100);
        assert!(clock.judge(at(NOW, 100)).is_doubt());
        clock.hear(0, NOW, 100);
        clock.hear(1, NOW, 100);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Believed);
        // What was known before this process was started is a witness too.
        let mut again = Timekeeper::new(2, clock.lead());
        assert_eq!(again.judge(at(NOW + 50, 150)), Judgement::Believed);
        assert!(again.judge(at(NOW + 86_450, 150)).is_doubt());
    }

    #[test]
    fn a_party_that_is_alone_for_a_day_believes_itself() {
        let mut clock = Timekeeper::new(2, None);
        assert_eq!(clock.judge(at(NOW, 100)), Judgement::Unconfirmed);
        assert_eq!(clock.judge(at(NOW + 86_399, 86_499)), Judgement::Unconfirmed);
        assert_eq!(clock.judge(at(NOW + 86_400, 86_500)), Judgement::Believed);
        // One liar among two others does not prevent it.
        let mut clock = Timekeeper::new(2, None);
        clock.judge(at(NOW, 100));
        clock.hear(0, NOW, 86_500);
        clock.hear(1, NOW + 86_400, 86_500);
        assert_eq!(clock.judge(at(NOW + 86_399, 86_499)), Judgement::Unconfirmed);
        assert_eq!(clock.judge(at(NOW + 86_400, 86_500)), Judgement::Believed);
        // But not against what most say, and not after a jump.
        let mut clock = Timekeeper::new(2, None);
        clock.judge(at(NOW, 100));
        clock.hear(0, NOW, 86_500);
        assert_ne!(clock.judge(at(NOW + 86_400, 86_500)), Judgement::Believed);
        let mut clock = confirmed(2);
        assert!(clock.judge(at(NOW + 500_000, 200_100)).is_doubt());
        assert!(clock.judge(at(NOW + 600_000, 300_100)).is_doubt());
        // Not a clock that jumped on the way, either: its day begins anew.
        let mut clock = Timekeeper::new(2, None);
        clock.judge(at(NOW, 100));
        assert_eq!(clock.judge(at(NOW + 40_000_000, 86_500)), Judgement::Unconfirmed);
        assert_eq!(clock.judge(at(NOW + 40_086_399, 172_899)), Judgement::Unconfirmed);
        assert_eq!(clock.judge(at(NOW + 40_086_400, 172_900)), Judgement::Believed);
    }

    /// A machine that slept without counting, whose wall was then set right, while one of the two
    /// others is away for good or lies.
    #[test]
    fn a_jump_that_one_other_confirms_is_believed_after_a_day_if_nobody_more_differs() {
        for liar in [false, true] {
            let mut clock = confirmed(2);
            let right = |steady: u64| at(NOW + 3_600 + steady - 100, steady);
            assert!(clock.judge(right(1_000)).is_doubt());
            for steady in [1_000, 87_399, 87_400] {
                clock.hear(0, right(steady).wall, steady);
                if liar {
                    clock.hear(1, NOW, steady);
                }
                assert_eq!(clock.judge(right(steady)).is_doubt(), steady < 87_400, "{liar}");
            }
        }
    }
}
