//! Every path and its handler.

use super::problem::Problem;
use super::{about, batch, bulletin, pages, upload};
use crate::server::Node;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post, put};
use std::sync::Arc;

/// The router of all paths. A path for what a party does not do is not found there.
pub fn routes(node: Arc<Node>) -> Router {
    let mut router = Router::new();
    for (path, handler) in table() {
        router = router.route(path, handler);
    }
    router
        .fallback(async || Problem::NO_PATH)
        .method_not_allowed_fallback(async || Problem::METHOD)
        .layer(from_fn_with_state(Arc::clone(&node), pages::framed))
        .with_state(node)
}

fn table() -> Vec<(&'static str, MethodRouter<Arc<Node>>)> {
    let mut table = pages::dashboard();
    table.extend([
        ("/healthz", get(about::health)),
        ("/readyz", get(about::ready)),
        ("/metrics", get(about::metrics)),
        ("/openapi.json", get(about::openapi)),
        ("/login", get(pages::ask).post(pages::login)),
        ("/logout", post(pages::logout)),
        ("/assets/{name}", get(pages::asset)),
        ("/docs", get(pages::contents)),
        ("/docs/{*path}", get(pages::book)),
        ("/v1/collections", get(about::collections)),
        ("/v1/collections/{id}", get(about::collection)),
        ("/v1/collections/{id}/keys/{window}", get(about::statement)),
        ("/v1/collections/{id}/cosignatures/{window}", get(about::cosignature)),
        ("/v1/collections/{id}/directories/{window}", get(about::directory)),
        ("/v1/collections/{id}/status", get(about::status)),
        ("/v1/collections/{id}/releases", get(about::releases)),
        ("/v1/collections/{id}/releases.csv", get(pages::csv)),
        ("/v1/collections/{id}/epochs/{epoch}/reports", post(upload::submit)),
        ("/v1/collections/{id}/batches/{hop}/{first}/{last}", put(batch::receive)),
        ("/v1/collections/{id}/notices/{round}", put(bulletin::countersign)),
        ("/v1/collections/{id}/bulletins/{round}", get(bulletin::fetch)),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_path_is_documented_and_nothing_else_is() {
        let document: Value = serde_json::from_str(about::OPENAPI).unwrap();
        let documented = document["paths"].as_object().unwrap();
        let table = table();
        for (path, _) in &table {
            let path = path.replace("{*", "{");
            assert!(documented.contains_key(&path), "{path}");
        }
        assert_eq!(documented.len(), table.len());
    }
}
