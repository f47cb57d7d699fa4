//! The description of everything here, for machines.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// `GET /openapi.json`.
pub async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT)
}

/// OpenAPI 3.1.
pub const DOCUMENT: &str = include_str!("../../openapi.json");
