//! `vectors/envelope.json`, which `vectors/envelope.py` makes: reports are sealed again from the
//! same random bytes, and every case is refused where it says.

use crate::chain::Chain;
use rand_core::{TryCryptoRng, TryRng};
use serde_json::Value;
use std::convert::Infallible;
use throng_wire::{LayerSecret, Shape, unhex};

#[test]
fn reports_are_sealed_to_the_bytes_of_the_file() {
    for envelope in read() {
        let mut rng = Replay(all_bytes(&envelope["ikm"]).concat());
        let sent = all_bytes(&envelope["messages"]).concat();
        let report = parse(&envelope).seal().report(&sent, &mut rng).unwrap();
        assert!(report == bytes(&envelope["report"]) && rng.0.is_empty());
    }
}

#[test]
fn every_case_fails_at_the_step_it_names() {
    let mut cases = 0;
    for envelope in read() {
        let chain = parse(&envelope);
        let opened = chain.walk(&bytes(&envelope["report"])).unwrap();
        assert_eq!(opened.last().unwrap(), &all_bytes(&envelope["messages"]));
        for case in envelope["cases"].as_array().unwrap() {
            let failed = chain.walk(&bytes(&case["report"])).unwrap_err();
            assert_eq!(failed, case["step"], "{}", case["name"]);
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases}");
}

/// Gives out the bytes of a vector in place of random ones.
struct Replay(Vec<u8>);

impl TryRng for Replay {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut drawn = [0; 4];
        self.try_fill_bytes(&mut drawn)?;
        Ok(u32::from_le_bytes(drawn))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut drawn = [0; 8];
        self.try_fill_bytes(&mut drawn)?;
        Ok(u64::from_le_bytes(drawn))
    }

    fn try_fill_bytes(&mut self, drawn: &mut [u8]) -> Result<(), Infallible> {
        let rest = self.0.split_off(drawn.len());
        drawn.copy_from_slice(&self.0);
        self.0 = rest;
        Ok(())
    }
}

impl TryCryptoRng for Replay {}

fn read() -> Vec<Value> {
    let file = include_str!("../../../../vectors/envelope.json");
    let mut file: Value = serde_json::from_str(file).unwrap();
    serde_json::from_value(file["envelopes"].take()).unwrap()
}

fn parse(envelope: &Value) -> Chain {
    let number = |name: &str| envelope[name].as_u64().unwrap();
    let secrets = all_bytes(&envelope["secrets"]).into_iter();
    Chain {
        shape: Shape {
            mixes: number("mixes") as u8,
            messages: number("messages_per_report") as u32,
            payload: number("payload") as u32,
        },
        collection: envelope["collection"].as_str().unwrap().parse().unwrap(),
        epoch: number("epoch"),
        window: number("window"),
        secrets: secrets.map(|bytes| LayerSecret::from_bytes(&bytes.try_into().unwrap())).collect(),
    }
}

fn all_bytes(list: &Value) -> Vec<Vec<u8>> {
    list.as_array().unwrap().iter().map(bytes).collect()
}

fn bytes(text: &Value) -> Vec<u8> {
    unhex(text.as_str().unwrap()).unwrap()
}
