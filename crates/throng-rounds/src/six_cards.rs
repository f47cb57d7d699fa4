//! Six cards and a coin: two people learn whether both said yes, and nothing else.
//!
//! The smallest computation in which nobody is trusted (Mizuki, Sone, "Six-Card Secure AND and
//! Four-Card Secure XOR", 2009), as a teaching version: [`play`] records what lies on the table.
//!
//! ```text
//! no = 0 1, yes = 1 0
//! a₁a₂ 0 1 b₁b₂        Alice's answer, a no, Bob's answer; all face down
//! a₁ 0 1 a₂ b₁b₂       the cards in the order 1 3 4 2 5 6
//! a₂ b₁b₂ a₁ 0 1       halves swapped on tails, left on heads
//! a₂a₁ b₁b₂ 0 1        the order undone
//! ```
//!
//! So the row is `a, no, b` on heads and `not a, b, no` on tails. The first pair is opened: with
//! the coin unknown it is as likely a yes as a no, whatever was answered. If it says no the second
//! pair is opened, otherwise the third. That is Bob's answer if Alice said yes and the spare no if
//! she did not; it is yes exactly when both said yes, and the pair that stays closed is never
//! looked at.
//!
//! Whoever tosses the coin hides it from the other: the first pair is `a` on heads and `not a` on
//! tails, so a Bob who sees the coin reads Alice's answer off it, even when his own is no. Alice
//! may see it, because the pair then tells her only what she answered herself.

use std::fmt;

/// The course of a game, from the deal to the answer.
///
/// ```
/// use throng_rounds::six_cards::play;
///
/// let play = play(true, false, false);
/// for step in &play.steps {
///     println!("{}\n{}", step.sentence, step.row);
/// }
/// assert!(!play.together);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Play {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// True if both said yes.
    pub together: bool,
}

/// One thing that is done, and what everybody sees afterwards.
///
/// ```
/// use throng_rounds::six_cards::play;
///
/// let covered = play(true, true, false).steps[1];
/// assert_eq!(covered.sentence, "The no is turned over.");
/// assert_eq!(covered.row.to_string(), "▒ ▒   ▒ ▒   ▒ ▒");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// A sentence that says what is done.
    pub sentence: &'static str,
    /// The row after it.
    pub row: Row,
}

/// The six cards as everybody sees them. What lies face down is not in here.
///
/// ```
/// use throng_rounds::six_cards::play;
///
/// let dealt = play(true, true, false).steps[0].row;
/// assert_eq!(dealt.to_string(), "▒ ▒   0 1   ▒ ▒");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    cards: [Option<bool>; 6],
    /// Cards that lie close together: two, or three while halves are swapped.
    group: usize,
}

/// Plays it through. `tails` is the coin, which Alice tosses and Bob does not see.
///
/// ```
/// use throng_rounds::six_cards::play;
///
/// // Bob said no: he sees the same two tables, one per side of the coin, whatever Alice said.
/// let seen = |alice: bool, tails: bool| play(alice, false, tails).steps;
/// assert_eq!(seen(true, false), seen(false, true));
/// assert_eq!(seen(true, true), seen(false, false));
///
/// let play = play(true, true, true);
/// assert!(play.together);
/// assert_eq!(play.steps.last().unwrap().row.to_string(), "0 1   1 0   ▒ ▒");
/// ```
pub fn play(alice: bool, bob: bool, tails: bool) -> Play {
    let dealt = deal(alice, bob);
    let cards = arranged(dealt, tails);
    let says = |pair: usize| cards[2 * pair];
    let second = if says(0) { 2 } else { 1 };
    let together = says(second);
    let last = match (says(0), together) {
        (false, false) => SECOND_NO,
        (false, true) => SECOND_YES,
        (true, false) => THIRD_NO,
        (true, true) => THIRD_YES,
    };
    // With the pairs that lie open after it: only their faces are in the row.
    let step = |sentence, faces: [bool; 6], open: &[usize], group| {
        let seen = |place: usize| open.contains(&(place / 2)).then_some(faces[place]);
        Step { sentence, row: Row { cards: std::array::from_fn(seen), group } }
    };
    let steps = vec![
        step(DEAL, dealt, &[1], 2),
        step(COVER, dealt, &[], 2),
        step(REORDER, cards, &[], 3),
        step(SWAP, cards, &[], 3),
        step(UNDO, cards, &[], 2),
        step(OPEN_FIRST, cards, &[0], 2),
        step(last, cards, &[0, second], 2),
    ];
    Play { steps, together }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, card) in self.cards.iter().enumerate() {
            match place {
                0 => {}
                _ if place % self.group == 0 => f.write_str("   ")?,
                _ => f.write_str(" ")?,
            }
            f.write_str(match card {
                None => "▒",
                Some(false) => "0",
                Some(true) => "1",
            })?;
        }
        Ok(())
    }
}

/// The faces from left to right: the answers, and between them a no that everybody may check.
fn deal(alice: bool, bob: bool) -> [bool; 6] {
    [alice, !alice, false, true, bob, !bob]
}

/// The faces once the order 1 3 4 2 5 6 is made, the halves are swapped, and the order is undone.
fn arranged(dealt: [bool; 6], tails: bool) -> [bool; 6] {
    let mut cards = [0, 2, 3, 1, 4, 5].map(|from| dealt[from]);
    if tails {
        cards.rotate_left(3);
    }
    [0, 3, 1, 2, 4, 5].map(|from| cards[from])
}

const DEAL: &str = "0 1 is a no and 1 0 is a yes. A no lies open in the middle; Alice puts her \
                    answer to its left and Bob his to its right, face down.";
const COVER: &str = "The no is turned over.";
const REORDER: &str = "The cards are put in the order 1 3 4 2 5 6.";
const SWAP: &str = "Unseen by Bob, Alice tosses a coin and swaps the two halves if it shows tails.";
const UNDO: &str = "The order is undone.";
const OPEN_FIRST: &str = "The first pair is opened. The coin made it a yes or a no with equal \
                          chances, whatever anybody answered.";
const SECOND_NO: &str = "It says no, so the second pair is opened. It says no: they did not both \
                         say yes, and nobody learns more.";
const SECOND_YES: &str = "It says no, so the second pair is opened. It says yes: both said yes.";
const THIRD_NO: &str = "It says yes, so the third pair is opened. It says no: they did not both \
                        say yes, and nobody learns more.";
const THIRD_YES: &str = "It says yes, so the third pair is opened. It says yes: both said yes.";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const BOTH: [bool; 2] = [false, true];

    fn rows(alice: bool, bob: bool, tails: bool) -> Vec<Row> {
        play(alice, bob, tails).steps.iter().map(|step| step.row).collect()
    }

    /// The two equally likely sequences of rows of somebody who does not see the coin.
    fn view(alice: bool, bob: bool) -> BTreeSet<Vec<Row>> {
        BOTH.into_iter().map(|tails| rows(alice, bob, tails)).collect()
    }

    /// The answer of the pair that stays closed.
    fn closed_pair(alice: bool, bob: bool, tails: bool) -> bool {
        let cards = arranged(deal(alice, bob), tails);
        let other = if cards[0] { 1 } else { 2 };
        cards[2 * other]
    }

    #[test]
    fn all_eight_plays_find_whether_both_said_yes() {
        for alice in BOTH {
            for bob in BOTH {
                for tails in BOTH {
                    let play = play(alice, bob, tails);
                    assert_eq!(play.together, alice && bob);
                    let last = play.steps[6];
                    assert_eq!(last.sentence.contains("both said yes."), alice && bob);
                    assert_eq!(last.sentence.contains("second"), last.row.cards[2].is_some());
                }
            }
        }
    }

    #[test]
    fn the_first_pair_is_a_fair_coin_whatever_was_answered() {
        for alice in BOTH {
            for bob in BOTH {
                let first = |tails| rows(alice, bob, tails)[5].cards;
                let yes = [Some(true), Some(false), None, None, None, None];
                let no = [Some(false), Some(true), None, None, None, None];
                let expected = if alice { [yes, no] } else { [no, yes] };
                assert_eq!([first(false), first(true)], expected);
            }
        }
    }

    #[test]
    fn without_the_coin_the_table_tells_only_whether_both_said_yes() {
        // Two different sequences each, so the sets are the laws.
        let no = view(false, false);
        assert_eq!(no.len(), 2);
        assert_eq!(view(false, true), no);
        assert_eq!(view(true, false), no);
        assert!(view(true, true).len() == 2 && view(true, true).is_disjoint(&no));
    }

    #[test]
    fn alice_who_sees_the_coin_learns_nothing_if_she_said_no() {
        for tails in BOTH {
            assert_eq!(rows(false, false, tails), rows(false, true, tails));
        }
    }

    #[test]
    fn bob_who_saw_the_coin_would_learn_what_alice_said() {
        for tails in BOTH {
            assert_ne!(rows(false, false, tails), rows(true, false, tails));
        }
    }

    #[test]
    fn the_closed_pair_would_tell_what_bob_said() {
        for tails in BOTH {
            assert_ne!(closed_pair(false, false, tails), closed_pair(false, true, tails));
        }
    }

    #[test]
    fn only_what_is_said_to_be_open_is_open() {
        let shown: Vec<String> = rows(true, true, false).iter().map(Row::to_string).collect();
        let expected = [
            "▒ ▒   0 1   ▒ ▒",
            "▒ ▒   ▒ ▒   ▒ ▒",
            "▒ ▒ ▒   ▒ ▒ ▒",
            "▒ ▒ ▒   ▒ ▒ ▒",
            "▒ ▒   ▒ ▒   ▒ ▒",
            "1 0   ▒ ▒   ▒ ▒",
            "1 0   ▒ ▒   1 0",
        ];
        assert_eq!(shown, expected);
    }
}
