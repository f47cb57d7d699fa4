//! One participant of a computation, from the first cards to the result.

use crate::{
    Agreement, Channel, ComputationPlan, Error, Failure, Input, Outcome, PairKey, Player, Seat, pad,
};
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use throng_collection::Board;
use throng_wire::{Bulletin, Identity};
use zeroize::{Zeroize, Zeroizing};

/// A state machine without network: it says what to post and is told what everybody saw.
///
/// ```text
/// keys board   round 0, 1, …      offer, settle      until there are keys with the members
/// talk board   round 0            speak, hear        confirm: the plan; the seat's signature
///              round 1, 2, …      speak, hear        the circuit's rounds
/// ```
///
/// Nothing is said to a seat whose holder has not proved to be the one in the roster and to have
/// the same key, seen the same bulletin and hold the same plan. Whoever is silent is absent from
/// then on, and it ends if that one is needed. After the confirmations, what is cut, altered or
/// doubled ends it, as does at any time a message of one's own that is missing from a bulletin:
/// somebody on the way does not do as promised, and a result would be worth nothing.
pub struct Participant {
    plan: Arc<ComputationPlan>,
    own: Seat,
    identity: Identity,
    stage: Stage,
    player: Player,
}

enum Stage {
    Agreeing(Agreement),
    Talking(Talk),
    Over,
}

/// The channels of a participant on the board for everything but keys.
struct Talk {
    board: Board,
    channels: BTreeMap<Seat, Channel>,
    /// The keys that the channels are made of, until they are confirmed.
    keys: BTreeMap<Seat, PairKey>,
    /// The next round.
    round: u64,
    /// The messages posted in it, if it has begun.
    said: Option<Vec<u8>>,
}

impl Participant {
    /// The holder of `own`, who gives these values. A signature by `identity` proves it to the
    /// others.
    pub fn new(
        plan: &Arc<ComputationPlan>,
        own: Seat,
        identity: Identity,
        values: &[Input],
    ) -> Result<Self, Error> {
        if plan.identity(own) != Some(&identity.public()) {
            let range = "the one that the roster has for the seat";
            return Err(Error::parameter("the identity", range));
        }
        let player = Player::new(Arc::clone(plan.circuit()), own, values)?;
        let agreement = Agreement::new(own, plan.partners(own), plan.method())?;
        let plan = Arc::clone(plan);
        Ok(Self { plan, own, identity, stage: Stage::Agreeing(agreement), player })
    }

    /// The reports to post in the next round on the board for keys.
    pub fn offer(
        &mut self,
        board: &Board,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let Stage::Agreeing(agreement) = &mut self.stage else { return Err(Error::OutOfTurn) };
        let messages = agreement.messages(rng)?;
        pad(&messages, self.plan.key_reports(self.own), (board.messages, board.payload), rng)
    }

    /// Takes what everybody saw of that round, and returns with whom there is no key yet, and why.
    pub fn settle(&mut self, bulletin: &Bulletin) -> Result<Vec<(Seat, Failure)>, Error> {
        let Stage::Agreeing(agreement) = &mut self.stage else { return Err(Error::OutOfTurn) };
        agreement.settle(bulletin);
        Ok(agreement.failures().collect())
    }

    /// Goes over to the other board with the keys there are.
    pub fn begin(&mut self, board: &Board) -> Result<(), Error> {
        let Stage::Agreeing(agreement) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Err(Error::OutOfTurn);
        };
        let (board, keys) = (board.clone(), agreement.into_keys());
        let channel = |(&partner, key)| {
            let channel = Channel::new(key, self.own, partner, board.id(), board.payload as usize);
            Ok((partner, channel?))
        };
        let channels = keys.iter().map(channel).collect::<Result<_, Error>>()?;
        self.stage = Stage::Talking(Talk { board, channels, keys, round: 0, said: None });
        Ok(())
    }

    /// The reports to post in a round of the other board. Rounds come one after the other, and
    /// the first is the one that confirms keys.
    pub fn speak(&mut self, round: u64, rng: &mut impl CryptoRng) -> Result<Vec<Vec<u8>>, Error> {
        self.say(round, rng).inspect_err(|_| self.end())
    }

    /// Takes what everybody saw of that round. After the last one there is a result, for those who
    /// are shown one. After an error everything secret is gone, and so is this participant.
    pub fn hear(&mut self, bulletin: &Bulletin) -> Result<Option<Outcome>, Error> {
        let heard = self.listen(bulletin);
        if !matches!(heard, Ok(None)) {
            self.end();
        }
        heard
    }

    /// Wipes everything secret.
    fn end(&mut self) {
        self.stage = Stage::Over;
        self.player.close();
    }

    fn say(&mut self, round: u64, rng: &mut impl CryptoRng) -> Result<Vec<Vec<u8>>, Error> {
        let Stage::Talking(talk) = &mut self.stage else { return Err(Error::OutOfTurn) };
        if round != talk.round || talk.said.is_some() {
            return Err(Error::OutOfTurn);
        }
        let mut messages = Vec::new();
        if round == 0 {
            let digest = self.plan.digest();
            for (channel, key) in talk.channels.values_mut().zip(talk.keys.values()) {
                let proof = [&digest[..], &key.signed(self.own, &self.identity)].concat();
                messages.extend(channel.seal(round, &proof)?.concat());
            }
        } else {
            for (seat, data) in self.player.send(rng)? {
                let data = Zeroizing::new(data);
                if let Some(channel) = talk.channels.get_mut(&seat) {
                    messages.extend(channel.seal(round, &data)?.concat());
                }
            }
        }
        talk.said = Some(messages.clone());
        let shape = (talk.board.messages, talk.board.payload);
        pad(&messages, self.plan.talk_reports(self.own, round), shape, rng)
    }

    fn listen(&mut self, bulletin: &Bulletin) -> Result<Option<Outcome>, Error> {
        let Stage::Talking(talk) = &mut self.stage else { return Err(Error::OutOfTurn) };
        let said = talk.said.take().ok_or(Error::OutOfTurn)?;
        let (notice, round) = (bulletin.notice(), talk.round);
        let ours = notice.collection == talk.board.id();
        throng_wire::Error::unless_in("bulletin", "collection", ours)?;
        throng_wire::Error::unless_in("bulletin", "round", notice.round == round)?;
        talk.round += 1;
        if !bulletin.holds(said.chunks_exact(talk.board.payload as usize)) {
            return Err(Error::Lost { round });
        }
        let mut incoming = BTreeMap::new();
        for (&seat, channel) in &mut talk.channels {
            match channel.open(bulletin) {
                Ok(data) => drop(incoming.insert(seat, data)),
                Err(Error::Silent { .. }) => {}
                // Whoever has not proved who it is cannot end anything either.
                Err(Error::Broken { .. } | Error::Doubled { .. }) if round == 0 => {}
                Err(error) => {
                    incoming.values_mut().for_each(Zeroize::zeroize);
                    return Err(error);
                }
            }
        }
        if round > 0 {
            return self.player.receive(incoming);
        }
        talk.confirm(&incoming, &self.plan);
        let committee = self.plan.circuit().committee();
        let there = talk.channels.keys().chain([&self.own]);
        let present = there.filter(|seat| committee.place(**seat).is_some()).count();
        committee.enough(present).map(|()| None)
    }
}

impl Talk {
    /// Keeps the channels whose other end is who it should be.
    fn confirm(&mut self, proofs: &BTreeMap<Seat, Vec<u8>>, plan: &ComputationPlan) {
        let (keys, digest) = (std::mem::take(&mut self.keys), plan.digest());
        let confirms = |seat: &Seat| {
            let (same, signature) = proofs.get(seat)?.split_first_chunk()?;
            let signed =
                keys.get(seat)?.verify(*seat, plan.identity(*seat)?, signature.as_array()?);
            Some(*same == digest && signed)
        };
        self.channels.retain(|seat, _| confirms(seat) == Some(true));
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Agreeing(_) => "agreeing",
            Stage::Talking(_) => "talking",
            Stage::Over => "over",
        };
        write!(f, "Participant({}, {stage})", self.own)
    }
}
