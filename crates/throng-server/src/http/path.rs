//! The parts of a path, with their types. A path that says something else is not found.

use super::problem::Problem;
use crate::party::Party;
use crate::server::Node;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use std::str::FromStr;
use std::sync::Arc;
use throng_wire::CollectionId;

/// `{id}`: a collection that is served here.
pub struct Here(pub Arc<Party>);

/// `{epoch}`, `{window}` or `{round}`.
pub struct Number(pub u64);

/// `{name}` or `{*path}`.
pub struct Named(pub String);

/// `{hop}/{first}/{last}`.
pub struct Place {
    pub hop: u8,
    pub first: u64,
    pub last: u64,
}

impl FromRequestParts<Arc<Node>> for Here {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        let params = params(parts, node).await?;
        let id: Option<CollectionId> = named(&params, &["id"]).ok();
        let party = id.and_then(|id| node.parties().get(&id).cloned());
        Ok(Self(party.ok_or(throng_mix::Error::UnknownCollection)?))
    }
}

impl FromRequestParts<Arc<Node>> for Number {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        let params = params(parts, node).await?;
        named(&params, &["epoch", "window", "round"]).map(Self)
    }
}

impl FromRequestParts<Arc<Node>> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        let params = params(parts, node).await?;
        named(&params, &["name", "path"]).map(Self)
    }
}

impl FromRequestParts<Arc<Node>> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        let params = params(parts, node).await?;
        let (first, last) = (named(&params, &["first"])?, named(&params, &["last"])?);
        Ok(Self { hop: named(&params, &["hop"])?, first, last })
    }
}

async fn params(parts: &mut Parts, node: &Arc<Node>) -> Result<RawPathParams, Problem> {
    RawPathParams::from_request_parts(parts, node).await.map_err(|_| Problem::NO_PATH)
}

fn named<T: FromStr>(params: &RawPathParams, names: &[&str]) -> Result<T, Problem> {
    let found = params.iter().find(|(name, _)| names.contains(name));
    found.and_then(|(_, text)| text.parse().ok()).ok_or(Problem::NO_PATH)
}
