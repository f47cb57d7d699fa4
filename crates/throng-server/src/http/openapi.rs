//! The description of all paths, for machines.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// `GET /openapi.json`: the description.
pub async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT)
}

/// The description in OpenAPI 3.1.
pub const DOCUMENT: &str = include_str!("../../openapi.json");
