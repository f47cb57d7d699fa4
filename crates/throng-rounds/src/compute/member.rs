//! A member's part: shares of everything, and what it says and hears of them.

use super::Incoming;
use super::challenge::challenge;
use super::message::{RANDOM, Shape, Step, VIEW, decode, encode, from_bitmap, to_bitmap};
use crate::circuit::{Gate, Reveal};
use crate::shamir::{Opening, Shares, at_zero, gather, share_all};
use crate::{Circuit, Element, Error, Seat};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use std::array::from_fn;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(super) struct Member {
    circuit: Arc<Circuit>,
    digest: [u8; 32],
    /// Its place in the committee.
    pub(super) place: usize,
    /// The members still heard, itself included, as a set of bits.
    active: u64,
    /// For every dealer, true if it was heard; after the lift, true if it is used.
    pub(super) dealers: Vec<bool>,
    /// Its shares of every wire, and of r times it.
    wires: Zeroizing<Vec<[Element; 2]>>,
    /// Its shares of the random numbers, each the sum of one of every member that dealt.
    random: Shares,
    /// r and the seeds, once they are opened.
    opened: Vec<Element>,
    /// Its shares of the two masked sums that have to be 0.
    masked: Shares,
    /// The shares that it sends itself in this round.
    pub(super) own: Shares,
}

impl Member {
    pub fn new(circuit: Arc<Circuit>, place: usize) -> Self {
        Self {
            digest: circuit.digest(),
            place,
            active: 0,
            dealers: vec![false; circuit.dealers.len()],
            wires: Zeroizing::new(vec![[Element::ZERO; 2]; circuit.gates.len()]),
            random: Zeroizing::new(vec![Element::ZERO; RANDOM]),
            opened: Vec::new(),
            masked: Zeroizing::default(),
            own: Zeroizing::default(),
            circuit,
        }
    }

    /// Takes what a dealer sent: a share of each of its bits and, of a member, of its random
    /// numbers.
    pub fn take_deal(&mut self, (index, seat): (usize, Seat), shares: &[Element]) {
        let Some(dealer) = self.circuit.dealers.get(&seat) else { return };
        let (bits, random) = shares.split_at(dealer.wires.len());
        for (&wire, &share) in dealer.wires.iter().zip(bits) {
            self.wires[wire as usize][X] = share;
        }
        for (sum, &share) in self.random.iter_mut().zip(random) {
            *sum = *sum + share;
        }
        self.dealers[index] = true;
        if let Some(member) = self.circuit.committee().place(seat) {
            self.active |= 1 << member;
        }
    }

    /// Fails if too few members dealt.
    pub fn dealt(&self) -> Result<(), Error> {
        self.circuit.committee().enough(self.active.count_ones() as usize)
    }

    /// The messages to every other member, also to one that is no longer heard: it learns from them
    /// that it is not.
    pub fn send(&mut self, step: Step, rng: &mut impl CryptoRng) -> Vec<(Seat, Vec<u8>)> {
        let (reshare, open) = self.speak(step);
        let head = self.head(step);
        let committee = self.circuit.committee();
        let members = committee.members();
        let shares = share_all(&reshare, committee.corrupt(), members.len(), rng);
        let others = members.iter().zip(&shares).enumerate().filter(|&(i, _)| i != self.place);
        let messages = others
            .map(|(_, (&seat, shares))| (seat, encode(&head, shares.iter().chain(&open))))
            .collect();
        let own = shares[self.place].iter().chain(&open).copied();
        self.own = gather(reshare.len() + open.len(), own);
        messages
    }

    /// Takes the messages of a round. False if the others no longer hear this member: it is out,
    /// and they go on without it.
    pub fn receive(&mut self, step: Step, incoming: &Incoming) -> Result<bool, Error> {
        let Some(shape) = Shape::of(&self.circuit, step) else { return Ok(true) };
        let (mut places, mut heads, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for (place, &seat) in self.circuit.committee().members().iter().enumerate() {
            if place == self.place {
                places.push(place);
                shares.push(std::mem::take(&mut self.own));
            } else if let Some(bytes) = incoming.get(&seat)
                && self.hears(place)
            {
                let (head, elements) = decode(bytes, shape.head, shape.reshared + shape.opened)
                    .ok_or(Error::Malformed { seat })?;
                places.push(place);
                heads.push((seat, head));
                shares.push(elements);
            }
        }
        self.circuit.committee().enough(places.len())?;
        if !self.agree(step, &heads)? {
            return Ok(false);
        }
        let heard = places.iter().fold(0, |set, place| set | 1 << place);
        if step.needs_all() && heard != self.active {
            let place = (self.active & !heard).trailing_zeros() as usize;
            return Err(Error::Left { seat: self.circuit.committee().members()[place] });
        }
        self.active = heard;
        let reduced = reduce(&places, &shares, shape.reshared);
        let opened = self.open(&places, &shares, shape)?;
        self.hear(step, reduced, opened)?;
        Ok(true)
    }

    /// The message to a recipient: which dealers are used, and its shares of what is shown.
    pub fn output(&self, seat: Seat) -> Vec<u8> {
        encode(&to_bitmap(&self.dealers), self.shares_for(seat).iter())
    }

    pub fn shares_for(&self, seat: Seat) -> Shares {
        let share = |(_, reveal): (_, &Reveal)| self.wires[reveal.wire as usize][X];
        gather(self.circuit.shown(seat).count(), self.circuit.shown(seat).map(share))
    }

    pub fn hears(&self, place: usize) -> bool {
        self.active >> place & 1 == 1
    }

    /// The products to be shared anew, and the shares to be opened.
    fn speak(&self, step: Step) -> (Shares, Vec<Element>) {
        let nothing = Shares::default;
        match step {
            Step::Deal | Step::Output => (nothing(), Vec::new()),
            Step::Lift => {
                let lift = |&wire: &u32| self.random[R] * self.wires[wire as usize][X];
                let inputs = self.circuit.inputs();
                (gather(self.circuit.inputs().count(), inputs.map(lift)), Vec::new())
            }
            Step::Layer(depth) => (self.products(depth), Vec::new()),
            Step::Reveal => (nothing(), self.random[..OPENED].to_vec()),
            Step::Mask => {
                let [products, inputs, any] = self.sums();
                let masked = vec![self.random[RHO] * products, self.random[RHO + 1] * inputs];
                (Zeroizing::new(masked), vec![any])
            }
            Step::Check => (nothing(), self.masked.to_vec()),
        }
    }

    fn hear(&mut self, step: Step, reduced: Shares, opened: Vec<Element>) -> Result<(), Error> {
        match step {
            Step::Lift => self.use_inputs(&reduced)?,
            Step::Layer(depth) => {
                let circuit = Arc::clone(&self.circuit);
                let (pairs, _) = reduced.as_chunks();
                for (&wire, &pair) in circuit.layers[depth].products.iter().zip(pairs) {
                    self.wires[wire as usize] = pair;
                }
                self.follow(depth);
            }
            Step::Reveal => self.opened = opened,
            Step::Mask => self.masked = reduced,
            Step::Check if opened[0] != Element::ZERO => return Err(Error::Misbehaved),
            Step::Check if opened[1] != Element::ZERO => return Err(Error::NotABit),
            Step::Deal | Step::Check | Step::Output => {}
        }
        Ok(())
    }

    /// The lifted inputs of those who are used; 0 for those who are not.
    fn use_inputs(&mut self, lifted: &[Element]) -> Result<(), Error> {
        let circuit = Arc::clone(&self.circuit);
        let given = circuit.dealers.values().zip(&self.dealers);
        let (present, needed) =
            (given.filter(|(d, used)| **used && d.gives()).count(), circuit.least as usize);
        if present < needed {
            return Err(Error::TooFewInputs { present, needed });
        }
        let mut lifted = lifted.iter();
        for ((&seat, dealer), &used) in circuit.dealers.iter().zip(&self.dealers) {
            if !used && dealer.required() {
                return Err(Error::Absent { seat });
            }
            for (&wire, &share) in dealer.wires.iter().zip(&mut lifted) {
                let pair = &mut self.wires[wire as usize];
                *pair = [pair[X], share].map(|share| Element::from(used) * share);
            }
        }
        self.follow(0);
        Ok(())
    }

    /// Local products of the pairs (x, r·x) and y: x·y and r·x·y, on polynomials of twice the
    /// degree.
    fn products(&self, depth: usize) -> Shares {
        let products = &self.circuit.layers[depth].products;
        let mut local = Zeroizing::new(Vec::with_capacity(2 * products.len()));
        for &wire in products {
            if let Gate::Multiply(x, y) = self.circuit.gates[wire as usize] {
                let y = self.wires[y as usize][X];
                local.extend(self.wires[x as usize].map(|x| x * y));
            }
        }
        local
    }

    /// The wires that follow from those of this depth: the same for x and for r·x.
    fn follow(&mut self, depth: usize) {
        let circuit = Arc::clone(&self.circuit);
        for &wire in &circuit.layers[depth].local {
            let gate = circuit.gates[wire as usize];
            self.wires[wire as usize] = local(gate, &self.wires, self.random[R]);
        }
    }

    /// Its shares of the three sums: of what is wrong with products, of what is wrong with inputs,
    /// and of everything behind a mask.
    fn sums(&self) -> [Element; 3] {
        let mut challenge = challenge([self.opened[SEEDS], self.opened[SEEDS + 1]]);
        let mut draw = || challenge.next().expect("there is no end of coefficients");
        let (r, mut products, mut any) = (self.opened[R], Element::ZERO, self.random[COVER]);
        let multiplied = self.circuit.layers.iter().flat_map(|layer| &layer.products);
        for &wire in self.circuit.inputs().chain(multiplied) {
            let [value, lifted] = self.wires[wire as usize];
            products = products + draw() * (lifted - r * value);
            any = any + draw() * value + draw() * lifted;
        }
        let mut inputs = Element::ZERO;
        for check in &self.circuit.checks {
            let [x, square] = check.map(|wire| self.wires[wire as usize][X]);
            inputs = inputs + draw() * (square - x);
        }
        [products, inputs, any]
    }

    fn open(
        &self,
        places: &[usize],
        shares: &[Shares],
        shape: Shape,
    ) -> Result<Vec<Element>, Error> {
        let opening = Opening::new(places, self.circuit.committee().corrupt())?;
        let column = |i: usize| shares.iter().map(|s| s[i]).collect::<Vec<_>>();
        (shape.reshared..shape.reshared + shape.opened).map(|i| opening.open(&column(i))).collect()
    }

    /// The head of its messages: what it heard, for the others to compare.
    fn head(&self, step: Step) -> Vec<u8> {
        let dealers = to_bitmap(&self.dealers);
        if step == Step::Lift {
            return dealers;
        }
        let digest = Sha256::new_with_prefix(b"throng/1 view")
            .chain_update(self.digest)
            .chain_update(&dealers)
            .finalize();
        [&self.active.to_le_bytes()[..], &digest[..VIEW - 8]].concat()
    }

    /// True if the others heard the same as this member, and false if they agree that it is not
    /// there.
    fn agree(&mut self, step: Step, heads: &[(Seat, &[u8])]) -> Result<bool, Error> {
        let mut used = self.dealers.clone();
        let mut views = Vec::with_capacity(heads.len());
        for &(seat, head) in heads {
            if step == Step::Lift {
                let heard = from_bitmap(head, used.len()).ok_or(Error::Malformed { seat })?;
                used.iter_mut().zip(&heard).for_each(|(used, &heard)| *used &= heard);
                views.push((self.members_of(&heard), &[][..]));
            } else {
                let (members, digest) =
                    head.split_first_chunk().ok_or(Error::Malformed { seat })?;
                views.push((u64::from_le_bytes(*members), digest));
            }
        }
        let own = self.head(step);
        let own = (self.active, if step == Step::Lift { &[] } else { &own[8..] });
        if views.iter().all(|&view| view == own) {
            self.dealers = used;
            return Ok(true);
        }
        let out = views.iter().all(|&view| view == views[0]) && views[0].0 >> self.place & 1 == 0;
        if out { Ok(false) } else { Err(Error::Disagreement) }
    }

    /// The members among the dealers.
    fn members_of(&self, dealers: &[bool]) -> u64 {
        let seats = self.circuit.dealers.keys().zip(dealers).filter(|&(_, &heard)| heard);
        let places = seats.filter_map(|(&seat, _)| self.circuit.committee().place(seat));
        places.fold(0, |set, place| set | 1 << place)
    }
}

/// Shares of products, from what everybody present shared of its local ones: Gennaro, Rabin, Rabin,
/// "Simplified VSS and Fast-Track Multiparty Computations" (1998). The local products lie on a
/// polynomial of degree 2t, so 2t + 1 of them give its value at 0 as a sum, and a sum of shares is
/// a share of the sum.
fn reduce(places: &[usize], shares: &[Shares], count: usize) -> Shares {
    let mut sums = Zeroizing::new(vec![Element::ZERO; count]);
    for (by, shares) in at_zero(places).into_iter().zip(shares) {
        for (sum, &share) in sums.iter_mut().zip(shares.iter()) {
            *sum = *sum + by * share;
        }
    }
    sums
}

/// A wire that needs no other member, and r times it.
fn local(gate: Gate, wires: &[[Element; 2]], r: Element) -> [Element; 2] {
    let wire = |wire: u32| wires[wire as usize];
    match gate {
        Gate::Input | Gate::Multiply(..) => [Element::ZERO; 2],
        Gate::Constant(constant) => [constant, constant * r],
        Gate::Add(a, b) => from_fn(|i| wire(a)[i] + wire(b)[i]),
        Gate::Sub(a, b) => from_fn(|i| wire(a)[i] - wire(b)[i]),
        Gate::Scale(a, by) => wire(a).map(|share| by * share),
    }
}

/// The place of the share of the wire itself in its pair.
const X: usize = 0;

// The random numbers: r and two seeds, which are opened; two masks for what has to be 0; and a
// cover.
const R: usize = 0;
const SEEDS: usize = 1;
const OPENED: usize = 3;
const RHO: usize = 3;
const COVER: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    // Only the last place of a vector is wiped when it is dropped, so none that holds shares grows.
    #[test]
    fn shares_are_kept_in_one_place() {
        let mut circuit = Circuit::new(9, example::committee());
        for seat in (0..9).map(Seat) {
            let bit = circuit.bit(seat);
            circuit.reveal_bit(bit, &[Seat(8)]);
        }
        let member = Member::new(Arc::new(circuit), 0);
        let lifted = member.speak(Step::Lift).0;
        let products = member.speak(Step::Layer(1)).0;
        let shown = member.shares_for(Seat(8));
        let bytes = member.output(Seat(8));
        let decoded = decode(&bytes, 2, 9).unwrap().1;
        for (shares, count) in [(lifted, 9), (products, 18), (shown, 9), (decoded, 9)] {
            assert_eq!((shares.len(), shares.capacity()), (count, count));
        }
        assert_eq!(bytes.len(), bytes.capacity());
    }
}
