//! A function of the participants' inputs, written down gate by gate.
//!
//! ```text
//! inputs     bit, integer, choice        each bit of them is proven to be one
//!            coin                        a fair bit that nobody knows
//! free       not, add, sub, sum, scale, constant
//! a round    and, or, xor, multiply; and_all, xor_all of k take ⌈log₂ k⌉
//! outputs    reveal_bit, reveal_number   to chosen seats
//! ```
//!
//! Multiplications whose operands are ready are done in the same round, so what counts is the
//! depth: the greatest number of multiplications on a path from an input to an output. It is at
//! least 1, because proving that an input is a bit takes one.
//!
//! Building never fails halfway. The first mistake, such as an input of a seat that does not exist,
//! is remembered, and [`Circuit::check`] and [`Player::new`](crate::Player::new) report it.

mod arithmetic;
mod gate;
mod input;
mod wire;

pub(crate) use gate::{Gate, Layer};
pub use input::Input;
pub(crate) use input::{Kind, input_bits};
pub use wire::{Bit, Number, Output};

use crate::{Committee, Element, Error, Seat};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A function to be computed by a committee. Everybody who takes part has to have built the same.
///
/// ```
/// use throng_rounds::{Circuit, Committee, Seat};
///
/// // Do all three want to marry? Nobody learns more than that.
/// let seats = [Seat(0), Seat(1), Seat(2)];
/// let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1)?);
/// let wishes = seats.map(|seat| circuit.bit(seat));
/// let all = circuit.and_all(&wishes);
/// circuit.reveal_bit(all, &seats);
///
/// // Two multiplications one after the other; that the wishes are bits is proven beside them.
/// assert_eq!((circuit.depth(), circuit.rounds()), (2, 8));
/// # Ok::<(), throng_rounds::Error>(())
/// ```
#[derive(Clone)]
pub struct Circuit {
    seats: u32,
    committee: Committee,
    /// All wires.
    pub(crate) gates: Vec<Gate>,
    depths: Vec<u32>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) dealers: BTreeMap<Seat, Dealer>,
    /// Wires that have to be 0 or 1, each with its square.
    pub(crate) checks: Vec<[u32; 2]>,
    pub(crate) reveals: Vec<Reveal>,
    /// Seats whose inputs have to be used.
    pub(crate) least: u32,
    one: Option<u32>,
    fault: Option<Error>,
}

/// A seat that shares inputs: everybody who has some, and all members.
#[derive(Clone, Default)]
pub(crate) struct Dealer {
    pub kinds: Vec<Kind>,
    /// The wires of its bits, in the order of `kinds`.
    pub wires: Vec<u32>,
    may_be_absent: bool,
}

impl Dealer {
    /// True if nothing can be computed without it.
    pub fn required(&self) -> bool {
        !self.may_be_absent && self.gives()
    }

    /// True if it has inputs of its own, besides coins.
    pub fn gives(&self) -> bool {
        self.kinds.iter().any(|&kind| kind != Kind::Coin)
    }
}

#[derive(Clone)]
pub(crate) struct Reveal {
    pub wire: u32,
    pub is_bit: bool,
    pub to: BTreeSet<Seat>,
}

impl Circuit {
    /// A circuit of `seats` participants, to be computed by a committee of some of them.
    pub fn new(seats: u32, committee: Committee) -> Self {
        let dealers = committee.members().iter().map(|&seat| (seat, Dealer::default())).collect();
        let mut circuit = Self {
            seats,
            committee,
            gates: Vec::new(),
            depths: Vec::new(),
            layers: vec![Layer::default()],
            dealers,
            checks: Vec::new(),
            reveals: Vec::new(),
            least: 0,
            one: None,
            fault: None,
        };
        for seat in circuit.committee.members().to_vec() {
            circuit.seated(seat);
        }
        circuit
    }

    /// A bit of `seat`.
    pub fn bit(&mut self, seat: Seat) -> Bit {
        Bit(self.input(seat, Kind::Bit)[0])
    }

    /// An integer of `seat`, from 0 to 2^`bits` − 1, of 1 to 32 bits.
    pub fn integer(&mut self, seat: Seat, bits: u32) -> Number {
        if !(1..=32).contains(&bits) {
            self.mistake("bits of an integer", "from 1 to 32");
        }
        let bits = bits.clamp(1, 32);
        let wires = self.input(seat, Kind::Integer(bits));
        let digits = wires.into_iter().enumerate().map(|(place, wire)| (Bit(wire), 1 << place));
        self.weighted(digits)
    }

    /// One of `options` that `seat` chooses, or none of them: at most one of the bits is set.
    pub fn choice(&mut self, seat: Seat, options: u32) -> Vec<Bit> {
        if !(1..=MAX_OPTIONS).contains(&options) {
            self.mistake("options of a choice", format!("from 1 to {MAX_OPTIONS}"));
        }
        let wires = self.input(seat, Kind::Choice(options.clamp(1, MAX_OPTIONS)));
        let bits: Vec<_> = wires.into_iter().map(Bit).collect();
        if bits.len() > 1 {
            let set = self.sum(bits.iter().copied());
            self.must_be_bit(set.wire);
        }
        bits
    }

    /// The inputs of `seat` count as 0 if they do not arrive. Without this their absence is an
    /// error.
    ///
    /// One corrupt member can leave out any such seats, down to [`Circuit::at_least`]. So what is
    /// revealed has to be harmless for whatever inputs are left, as it is with
    /// [`LaplaceNoise`](crate::LaplaceNoise).
    pub fn may_be_absent(&mut self, seat: Seat) {
        if self.seated(seat) {
            self.dealers.entry(seat).or_default().may_be_absent = true;
        }
    }

    /// Nothing is computed unless the inputs of `seats` seats are used, members' coins aside.
    /// Without this one is enough, and a sum of one input is that input.
    ///
    /// ```
    /// use throng_rounds::{Circuit, Committee, Seat};
    ///
    /// let members = [Seat(0), Seat(1), Seat(2)];
    /// let mut circuit = Circuit::new(20, Committee::new(members.to_vec(), 1)?);
    /// let wages: Vec<_> = (0..20).map(|seat| circuit.integer(Seat(seat), 16)).collect();
    /// (0..20).for_each(|seat| circuit.may_be_absent(Seat(seat)));
    /// circuit.at_least(15);
    /// let sum = circuit.sum(wages);
    /// circuit.reveal_number(sum, &members);
    /// circuit.check()?;
    /// # Ok::<(), throng_rounds::Error>(())
    /// ```
    pub fn at_least(&mut self, seats: u32) {
        self.least = self.least.max(seats);
    }

    /// A fair bit that nobody knows and nobody can bias: the exclusive or of one bit of every
    /// member.
    ///
    /// A member that does not deal counts as 0. At least 2t + 1 do, so at least t + 1 honest ones,
    /// and one would suffice. Nobody sees anything before all have dealt.
    ///
    /// ```
    /// use throng_rounds::{Circuit, Seat, example};
    ///
    /// let mut circuit = Circuit::new(3, example::committee());
    /// let coin = circuit.coin();
    /// circuit.reveal_bit(coin, &[Seat(0)]);
    /// assert_eq!(circuit.depth(), 2);
    /// ```
    pub fn coin(&mut self) -> Bit {
        let members = self.committee.members().to_vec();
        let bits: Vec<_> =
            members.into_iter().map(|seat| Bit(self.input(seat, Kind::Coin)[0])).collect();
        self.xor_all(&bits)
    }

    /// Shows a bit to these seats, and to nobody else.
    pub fn reveal_bit(&mut self, bit: Bit, to: &[Seat]) -> Output {
        self.reveal(bit.0, true, to)
    }

    /// Shows a number to these seats, and to nobody else. Its range has to stay within ±(2⁶⁰ − 1).
    pub fn reveal_number(&mut self, number: Number, to: &[Seat]) -> Output {
        let shown = number.range.is_some_and(|(low, high)| low >= -MAX_SHOWN && high <= MAX_SHOWN);
        if !shown {
            self.mistake("a number that is revealed", "within 2^60 of 0");
        }
        self.reveal(number.wire, false, to)
    }

    /// The first mistake that was made in building.
    ///
    /// ```
    /// use throng_rounds::{Circuit, Seat, example};
    ///
    /// let mut circuit = Circuit::new(3, example::committee());
    /// let nobody = circuit.bit(Seat(3));
    /// circuit.reveal_bit(nobody, &[Seat(0)]);
    /// assert_eq!(circuit.check().unwrap_err().to_string(), "a seat must be below 3");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The number of participants.
    pub fn seats(&self) -> u32 {
        self.seats
    }

    /// The committee that computes.
    pub fn committee(&self) -> &Committee {
        &self.committee
    }

    /// The seats that have something to share: the members, and all who have inputs.
    pub fn dealers(&self) -> impl Iterator<Item = Seat> {
        self.dealers.keys().copied()
    }

    /// The seats that are shown something.
    pub fn recipients(&self) -> BTreeSet<Seat> {
        self.reveals.iter().flat_map(|reveal| reveal.to.iter().copied()).collect()
    }

    /// Multiplications one after the other.
    pub fn depth(&self) -> usize {
        self.layers.len() - 1
    }

    /// Names the circuit: equal for equal circuits only.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(b"throng/1 circuit");
        let mut words = |words: &[u64]| words.iter().for_each(|w| hash.update(w.to_le_bytes()));
        words(&[self.seats.into(), self.committee.corrupt().into(), self.gates.len() as u64]);
        words(&[self.least.into(), self.committee.members().len() as u64]);
        self.committee.members().iter().for_each(|seat| words(&[seat.0.into()]));
        self.gates.iter().for_each(|gate| words(&gate.words()));
        words(&[self.dealers.len() as u64]);
        for (seat, dealer) in &self.dealers {
            words(&[seat.0.into(), dealer.may_be_absent.into(), dealer.kinds.len() as u64]);
            dealer.kinds.iter().for_each(|kind| words(&kind.words()));
            dealer.wires.iter().for_each(|&wire| words(&[wire.into()]));
        }
        words(&[self.reveals.len() as u64]);
        for reveal in &self.reveals {
            words(&[reveal.wire.into(), reveal.is_bit.into(), reveal.to.len() as u64]);
            reveal.to.iter().for_each(|seat| words(&[seat.0.into()]));
        }
        hash.finalize().into()
    }

    /// The wires of everybody's bits.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &u32> {
        self.dealers.values().flat_map(|dealer| &dealer.wires)
    }

    /// The outputs that `seat` is shown.
    pub(crate) fn shown(&self, seat: Seat) -> impl Iterator<Item = (Output, &Reveal)> {
        let numbered = self.reveals.iter().enumerate();
        numbered
            .filter(move |(_, reveal)| reveal.to.contains(&seat))
            .map(|(index, reveal)| (Output(index as u32), reveal))
    }

    fn input(&mut self, seat: Seat, kind: Kind) -> Vec<u32> {
        // An input of nobody becomes a constant; the mistake is reported before anything is
        // computed.
        if !self.seated(seat) {
            return vec![self.one(); kind.bits() as usize];
        }
        let wires: Vec<_> = (0..kind.bits()).map(|_| self.push(Gate::Input)).collect();
        let dealer = self.dealers.entry(seat).or_default();
        dealer.kinds.push(kind);
        dealer.wires.extend(&wires);
        for &wire in &wires {
            self.must_be_bit(wire);
        }
        wires
    }

    fn must_be_bit(&mut self, wire: u32) {
        let square = self.push(Gate::Multiply(wire, wire));
        self.checks.push([wire, square]);
    }

    fn reveal(&mut self, wire: u32, is_bit: bool, to: &[Seat]) -> Output {
        let to: BTreeSet<_> = to.iter().copied().filter(|&seat| self.seated(seat)).collect();
        if wire as usize >= self.gates.len() {
            self.mistake("a wire", "one of this circuit");
        }
        self.reveals.push(Reveal { wire, is_bit, to });
        Output(self.reveals.len() as u32 - 1)
    }

    fn push(&mut self, gate: Gate) -> u32 {
        let wire = self.gates.len() as u32;
        if gate.operands().any(|operand| operand >= wire) || wire >= MAX_WIRES {
            let range = format!("one of this circuit, which has at most {MAX_WIRES}");
            self.mistake("a wire", range);
            return 0;
        }
        let deepest = gate.operands().map(|operand| self.depths[operand as usize]).max();
        let product = matches!(gate, Gate::Multiply(..));
        let depth = deepest.unwrap_or(0) + u32::from(product);
        self.gates.push(gate);
        self.depths.push(depth);
        if self.layers.len() <= depth as usize {
            self.layers.push(Layer::default());
        }
        let layer = &mut self.layers[depth as usize];
        match gate {
            Gate::Input => {}
            Gate::Multiply(..) => layer.products.push(wire),
            _ => layer.local.push(wire),
        }
        wire
    }

    fn seated(&mut self, seat: Seat) -> bool {
        if seat.0 >= self.seats {
            self.mistake("a seat", format!("below {}", self.seats));
        }
        seat.0 < self.seats
    }

    fn mistake(&mut self, name: &'static str, range: impl Into<String>) {
        self.fault.get_or_insert(Error::parameter(name, range));
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit")
            .field("seats", &self.seats)
            .field("committee", &self.committee)
            .field("wires", &self.gates.len())
            .field("depth", &self.depth())
            .finish_non_exhaustive()
    }
}

const MAX_OPTIONS: u32 = 1 << 16;

const MAX_WIRES: u32 = 1 << 28;

/// Half the field: beyond it a number would come out as another one.
const MAX_SHOWN: i64 = Element::MODULUS as i64 / 2;
