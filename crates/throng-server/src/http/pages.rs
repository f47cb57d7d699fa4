//! Pages for people: who may see which, and how they are sent.
//!
//! Everything on them is from this server: no script, style, font or picture of others, nothing
//! inline.

use super::body::Arriving;
use super::guard::{Viewer, Visitor};
use super::path::{Here, Named};
use super::problem::Problem;
use crate::dashboard::{self, Ask, Asset, Frame, Leaf, PAGES};
use crate::server::Node;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    SET_COOKIE,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse};
use axum::routing::{MethodRouter, get};
use std::sync::Arc;

/// Every page of the dashboard, under its path.
pub fn dashboard() -> Vec<(&'static str, MethodRouter<Arc<Node>>)> {
    let mut paths: Vec<&'static str> = PAGES.iter().map(|page| page.path).collect();
    paths.dedup();
    paths.into_iter().map(|path| (path, at(path))).collect()
}

fn at(path: &'static str) -> MethodRouter<Arc<Node>> {
    get(move |State(node), viewer: Viewer, here: Result<Here, Problem>, RawQuery(query)| {
        page(path, node, viewer, here, query)
    })
}

/// `GET` a page, of a collection where the path names one.
async fn page(
    path: &'static str,
    node: Arc<Node>,
    Viewer(visitor): Viewer,
    here: Result<Here, Problem>,
    query: Option<String>,
) -> Result<Page, Problem> {
    let party = if path.contains("{id}") { Some(here?.0) } else { None };
    let page = dashboard::Page::at(path, node.role).ok_or(Problem::NO_PATH)?;
    if visitor.reader < page.reader {
        return Err(Problem::OPERATOR);
    }
    if !page.is_of(node.role) {
        return Err(throng_mix::Error::WrongPlace.into());
    }
    let frame = frame(&node, Some(visitor), page.under());
    let query = query.unwrap_or_default();
    let render = move |node: &Node| {
        let ask = Ask { node, party: party.as_deref(), query: &query, now: node.now() };
        page.render(&ask, frame)
    };
    Ok(Page(node.page(render).await?))
}

/// `GET /v1/collections/{id}/releases.csv`: every estimate of every release, one to a row.
pub async fn csv(
    State(node): State<Arc<Node>>,
    _: Viewer,
    Here(party): Here,
) -> Result<impl IntoResponse, Problem> {
    let name = format!("attachment; filename=\"{}.csv\"", party.id());
    let text = node.page(move |_| {
        let analyzer = party.analyzer()?;
        Ok(dashboard::csv(analyzer.collection(), &analyzer.published()?))
    });
    let text = text.await?;
    let media = "text/csv; charset=utf-8".to_owned();
    Ok(([(CONTENT_TYPE, media), (CONTENT_DISPOSITION, name)], text))
}

/// `GET /docs`: the contents of the book.
pub async fn contents() -> Response<Body> {
    see("/docs/README.md", None)
}

/// `GET /docs/{path}`: a page of the book, or a picture in it. Everybody may read it.
pub async fn book(
    State(node): State<Arc<Node>>,
    Named(path): Named,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let visitor = node.guard.visitor(&headers, node.now());
    match dashboard::book(&path, frame(&node, visitor, "/docs"))? {
        Leaf::Page(html) => Ok(Page(html).into_response()),
        Leaf::Picture(svg) => {
            // Its colours are inside it, for light and dark.
            let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
            let head = [(CONTENT_TYPE, "image/svg+xml"), (CONTENT_SECURITY_POLICY, policy)];
            Ok((head, svg).into_response())
        }
    }
}

/// `GET /login`: asks for a token.
pub async fn ask(State(node): State<Arc<Node>>, RawQuery(query): RawQuery) -> Page {
    let next = field(query.unwrap_or_default().as_bytes(), "next");
    Page(dashboard::login(frame(&node, None, ""), &local(next.as_deref()), false))
}

/// `POST /login`: a token in, a session out.
pub async fn login(
    State(node): State<Arc<Node>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Body>, Problem> {
    own(&headers)?;
    let form = Arriving::new(body, node.patience()).short(FORM).await?;
    let token = zeroize::Zeroizing::new(field(&form, "token").unwrap_or_default());
    let to = local(field(&form, "next").as_deref());
    if let Some((cookie, visitor)) = node.guard.begin(token.trim(), &headers, node.now()) {
        node.write_down(move |node| node.entered(&visitor)).await;
        return Ok(see(&to, Some(cookie)));
    }
    node.write_down(Node::turned_away).await;
    let page = dashboard::login(frame(&node, None, ""), &to, true);
    Ok((StatusCode::FORBIDDEN, Page(page)).into_response())
}

/// `POST /logout`: ends the session.
pub async fn logout(
    State(node): State<Arc<Node>>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    own(&headers)?;
    Ok(see("/login", node.guard.end()))
}

/// `GET /assets/{name}`: styles, script, icon. Addresses change with the content.
pub async fn asset(Named(name): Named) -> Result<impl IntoResponse, Problem> {
    let asset = Asset::named(&name).ok_or(Problem::NO_PATH)?;
    let cache = "public, max-age=31536000, immutable";
    Ok(([(CONTENT_TYPE, asset.media), (CACHE_CONTROL, cache)], asset.content.as_str()))
}

/// A whole page as a response.
pub struct Page(pub String);

impl IntoResponse for Page {
    fn into_response(self) -> Response<Body> {
        ([(CONTENT_SECURITY_POLICY, POLICY)], Html(self.0)).into_response()
    }
}

/// Attaches the frame of its visitor to a problem, so that the page that tells it has the menu.
pub async fn framed(
    State(node): State<Arc<Node>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let visitor = node.guard.visitor(request.headers(), node.now());
    let mut response = next.run(request).await;
    if response.extensions().get::<Problem>().is_some() {
        response.extensions_mut().insert(frame(&node, visitor, ""));
    }
    response
}

/// The address that a person asks for, if it is no machine: browsers say that they take pages.
pub fn person<B>(request: &Request<B>) -> Option<String> {
    let accept = request.headers().get(ACCEPT)?.to_str().ok()?;
    let looks = accept.contains("text/html") && request.method() == Method::GET;
    let to = request.uri().path_and_query().map_or("/", |to| to.as_str());
    looks.then(|| to.to_owned())
}

/// Makes a page of a problem for the person who asked, and asks for a token where one is missing.
pub fn told(mut response: Response<Body>, person: Option<String>) -> Response<Body> {
    let problem = response.extensions_mut().remove::<Problem>();
    let (Some(to), Some(said)) = (person, problem) else { return response };
    if said.status == StatusCode::UNAUTHORIZED {
        let mut query = form_urlencoded::Serializer::new(String::new());
        return see(&format!("/login?{}", query.append_pair("next", &to).finish()), None);
    }
    let frame = response.extensions_mut().remove::<Frame>().unwrap_or_default();
    (said.status, Page(dashboard::problem(frame, said.status.as_u16(), &said.title)))
        .into_response()
}

/// Refuses a form that a page of somebody else sends; browsers say whose page it is.
fn own(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let foreign = site.is_some_and(|site| ![&b"same-origin"[..], b"none"].contains(&site));
    if foreign { Err(Problem::FOREIGN) } else { Ok(()) }
}

fn frame(node: &Node, visitor: Option<Visitor>, here: &'static str) -> Frame {
    let frame = Frame::new(node.role, node.guard.is_open(), visitor, here);
    frame.simulated(node.clock.is_simulated())
}

/// Redirects to another address by GET.
fn see(to: &str, cookie: Option<HeaderValue>) -> Response<Body> {
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    let cookie = cookie.map(|cookie| [(SET_COOKIE, cookie)]);
    (StatusCode::SEE_OTHER, cookie, [(LOCATION, to)]).into_response()
}

/// The value of a field of a form.
fn field(form: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(form).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The path of this server that a text names, or that of its first page for anything else.
fn local(to: Option<&str>) -> String {
    let fine = |to: &&str| {
        to.starts_with('/') && !to[1..].starts_with(['/', '\\']) && to.bytes().all(|b| b > b' ')
    };
    to.filter(fine).unwrap_or("/").to_owned()
}

/// The most bytes of a form.
const FORM: usize = 4 << 10;

/// The content security policy: nothing external, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_never_sent_to_another_server() {
        for (to, path) in [
            ("/planner?n=5", "/planner?n=5"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("", "/"),
            ("/a\r\nSet-Cookie: x", "/"),
        ] {
            assert_eq!(local(Some(to)), path, "{to:?}");
        }
    }
}
