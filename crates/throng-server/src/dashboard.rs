//! What people see: pages rendered here, from templates that escape everything, with charts drawn here.
//!
//! ```text
//! overview     all collections of an analyzer        status      a mix
//! board        the rounds of one board
//! collection   the estimates of one                  operations  what became of batches
//! privacy      what holds for them, what is spent    planner     which mechanism?
//! book         the documentation                     number      digits that people read
//! ```
//!
//! Every number is there without a script. The one script sorts, searches, and asks the planner again
//! while a slider moves.

mod board;
mod book;
mod collection;
mod csv;
mod health;
mod operations;
mod overview;
mod planner;
mod post;
mod privacy;
mod query;
mod status;
mod strip;
mod time;

pub(crate) use board::board;
pub(crate) use book::{Leaf, book};
pub(crate) use collection::collection;
pub(crate) use csv::csv;
pub(crate) use operations::operations;
pub(crate) use overview::overview;
pub(crate) use planner::Planner;
pub(crate) use privacy::{Curves, privacy};
pub(crate) use status::status;

use crate::http::Visitor;
use crate::{Error, Reader, Role};
use askama::Template;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use throng_wire::hex;

/// What is around every page.
pub(crate) struct Frame {
    /// Not known where a problem is told.
    role: Option<Role>,
    /// Everybody may read.
    open: bool,
    visitor: Option<Visitor>,
    /// Where in the menu this is.
    here: &'static str,
}

impl Frame {
    /// What every page shows around it.
    pub fn new(role: Role, open: bool, visitor: Option<Visitor>, here: &'static str) -> Self {
        Self { role: Some(role), open, visitor, here }
    }

    fn links(&self) -> Vec<(&'static str, &'static str)> {
        let reader = self.visitor.as_ref().map(|visitor| visitor.reader);
        let mut links = Vec::new();
        match self.role {
            Some(Role::Mix) if reader.is_some() => links.push(("/", "Status")),
            Some(Role::Analyzer) if reader.is_some() => {
                links.push(("/", "Results"));
                if reader == Some(Reader::Operator) {
                    links.push(("/operations", "Operations"));
                }
                links.push(("/planner", "Planner"));
            }
            _ => {}
        }
        links.push(("/docs", "Documentation"));
        links
    }

    /// Whether everybody can read results here, which is said aloud. A mix has none.
    fn exposed(&self) -> bool {
        self.open && self.role == Some(Role::Analyzer)
    }

    /// The name of who is there, if tokens are asked for.
    fn name(&self) -> Option<&str> {
        self.visitor.as_ref()?.name.as_deref()
    }

    fn style() -> String {
        STYLE.path()
    }

    fn script() -> String {
        SCRIPT.path()
    }

    fn icon() -> String {
        ICON.path()
    }
}

/// A file that pages need.
pub(crate) struct Asset {
    name: &'static str,
    /// The media type.
    pub media: &'static str,
    /// All of it.
    pub content: String,
    mark: String,
}

impl Asset {
    fn new(name: &'static str, media: &'static str, content: String) -> Self {
        let mark = hex(&Sha256::digest(content.as_bytes())[..6]);
        Self { name, media, content, mark }
    }

    /// The file of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.name == name)
    }

    fn path(&self) -> String {
        format!("/assets/{}?{}", self.name, self.mark)
    }
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let all = [include_str!("../assets/dashboard.css"), throng_chart::CSS].concat();
    Asset::new("dashboard.css", "text/css; charset=utf-8", all)
});

static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let script = include_str!("../assets/dashboard.js").to_owned();
    Asset::new("dashboard.js", "text/javascript; charset=utf-8", script)
});

static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let icon = include_str!("../assets/icon.svg").to_owned();
    Asset::new("icon.svg", "image/svg+xml", icon)
});

/// The page that asks for a token.
pub(crate) fn login(frame: Frame, next: &str, wrong: bool) -> String {
    shown(&Login { frame, next, wrong }).unwrap_or_default()
}

/// A problem, for people.
pub(crate) fn problem(status: u16, title: &str) -> String {
    let frame = Frame { role: None, open: false, visitor: None, here: "" };
    shown(&ProblemPage { frame, status, title }).unwrap_or_default()
}

/// Renders a page.
fn shown(page: &impl Template) -> Result<String, Error> {
    page.render().map_err(|_| Error::Interrupted)
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    frame: Frame,
    next: &'a str,
    wrong: bool,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    status: u16,
    title: &'a str,
}
