//! The pages that people see, rendered here from templates that escape everything, with charts
//! drawn here.
//!
//! ```text
//! overview     all collections of an analyzer        status      a mix
//! board        the rounds of one board
//! collection   the estimates of one                  operations  what became of batches
//! privacy      what holds for them, what is spent    planner     which mechanism?
//! book         the documentation                     site        the data that pages are made of
//! ```
//!
//! Each is a function of plain data, which [`PAGES`], the table of all of them, takes from the
//! running server, most of it by `site`. Every number is there without a script. The one script
//! sorts, searches, and asks the planner again while a slider moves.

mod board;
mod book;
mod collection;
mod csv;
mod health;
mod number;
mod operations;
mod overview;
mod planner;
mod post;
mod privacy;
mod query;
mod site;
mod status;
mod strip;
mod time;

pub(crate) use book::{Leaf, book};
pub(crate) use csv::csv;
pub(crate) use planner::Desk;
pub use planner::planner_query;
pub(crate) use privacy::Curves;
pub(crate) use site::{Ask, Truth};

use crate::http::Visitor;
use crate::{Error, Reader, Role};
use askama::Template;
use board::{ROUNDS, board};
use collection::collection;
use operations::operations;
use overview::overview;
use planner::planner;
use privacy::privacy;
use sha2::{Digest, Sha256};
use site::{Rounds, Survey};
use status::status;
use std::sync::LazyLock;
use throng_wire::hex;

/// A page: its path, its readers and the function that renders it.
pub(crate) struct Page {
    /// Its path, which contains `{id}` if it is about one collection.
    pub path: &'static str,
    /// The role of the servers that have it; all have it if there is none.
    role: Option<Role>,
    /// The right that a visitor needs.
    pub reader: Reader,
    /// Its name in the menu.
    menu: Option<&'static str>,
    /// Renders it as HTML, where it is not about a board.
    show: Show,
}

type Show = fn(&Ask<'_>, Frame) -> Result<String, Error>;

/// All pages. The menu has them in this order, and then the book.
pub(crate) static PAGES: [Page; 6] = [
    Page::in_menu("Status", "/", Role::Mix, Reader::Operator, |ask, frame| {
        status(&ask.site()?, &ask.machine(), frame)
    }),
    Page::in_menu("Results", "/", Role::Analyzer, Reader::Viewer, |ask, frame| {
        overview(&ask.site()?, ask.query, frame)
    }),
    Page::of_collection("/collections/{id}", |ask, frame| {
        let asked = Survey::of(ask.node, ask.party()?, ask.now)?;
        collection(ask.now, &asked, ask.query, frame)
    }),
    Page::of_collection("/collections/{id}/privacy", |ask, frame| {
        let party = ask.party()?;
        let asked = Survey::of(ask.node, party, ask.now)?;
        privacy(&asked, party.words(), &ask.node.curves, ask.query, frame)
    }),
    Page::in_menu("Operations", "/operations", Role::Analyzer, Reader::Operator, |ask, frame| {
        operations(&ask.site()?, &ask.machine(), frame)
    }),
    Page::in_menu("Planner", "/planner", Role::Analyzer, Reader::Viewer, |ask, frame| {
        planner(&ask.node.planner, ask.query, frame)
    }),
];

impl Page {
    const fn in_menu(
        name: &'static str,
        path: &'static str,
        role: Role,
        reader: Reader,
        show: Show,
    ) -> Self {
        Self { path, role: Some(role), reader, menu: Some(name), show }
    }

    const fn of_collection(path: &'static str, show: Show) -> Self {
        Self { path, role: None, reader: Reader::Viewer, menu: None, show }
    }

    /// The page at a path of a server with this role, or else that of the other role.
    pub fn at(path: &str, role: Role) -> Option<&'static Self> {
        let mut here = PAGES.iter().filter(|page| page.path == path);
        here.clone().find(|page| page.is_of(role)).or_else(|| here.next())
    }

    /// True if servers of this role have it.
    pub fn is_of(&self, role: Role) -> bool {
        self.role.is_none_or(|of| of == role)
    }

    /// The path in the menu that it belongs to.
    pub fn under(&self) -> &'static str {
        if self.menu.is_some() { self.path } else { "/" }
    }

    /// Renders it. Everything about a board is on one page.
    pub fn render(&self, ask: &Ask<'_>, frame: Frame) -> Result<String, Error> {
        if let Some(party) = ask.party.filter(|party| party.question().is_none()) {
            let rounds = Rounds::of(party, ask.now, ROUNDS)?;
            return board(&rounds, party.words(), party.file(), frame);
        }
        (self.show)(ask, frame)
    }
}

/// The frame around every page.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    /// The role, which is not known where a problem is told before anything is looked at.
    role: Option<Role>,
    /// True if everybody may read.
    open: bool,
    visitor: Option<Visitor>,
    /// The path of this page in the menu.
    here: &'static str,
    /// True if the clock of this server is set by hand.
    simulated: bool,
}

impl Frame {
    /// The frame of a page at a place of the menu.
    pub fn new(role: Role, open: bool, visitor: Option<Visitor>, here: &'static str) -> Self {
        Self { role: Some(role), open, visitor, here, simulated: false }
    }

    /// The frame of a page of a server whose clock is set by hand, if it is.
    pub fn simulated(self, simulated: bool) -> Self {
        Self { simulated, ..self }
    }

    /// The menu, as paths and names: the pages of this server that the visitor may read.
    fn menu(&self) -> Vec<(&'static str, &'static str)> {
        let reader = self.visitor.as_ref().map(|visitor| visitor.reader);
        let here = |page: &&Page| {
            self.role.is_some_and(|role| page.is_of(role)) && reader >= Some(page.reader)
        };
        let named = PAGES.iter().filter(here).filter_map(|page| Some((page.path, page.menu?)));
        named.chain([("/docs", "Documentation")]).collect()
    }

    /// The path that the name of the program leads to: the first page, which asks for a token where
    /// one is needed, or for those who may not read that page the first that they may.
    fn home(&self) -> &'static str {
        let menu = self.menu();
        menu.first().filter(|_| self.visitor.is_some()).map_or("/", |(path, _)| path)
    }

    /// True if everybody can read results here, which the page then warns of. A mix has none.
    fn exposed(&self) -> bool {
        self.open && self.role == Some(Role::Analyzer)
    }

    /// The name of the visitor, if tokens are asked for.
    fn name(&self) -> Option<&str> {
        self.visitor.as_ref()?.name.as_deref()
    }

    /// The address of a file that pages need.
    fn asset(name: &str) -> String {
        Asset::named(name)
            .map_or_else(String::new, |asset| format!("/assets/{name}?{}", asset.mark))
    }
}

/// A file that pages need.
pub(crate) struct Asset {
    name: &'static str,
    /// The media type.
    pub media: &'static str,
    /// The content.
    pub content: String,
    mark: String,
}

impl Asset {
    fn new(name: &'static str, media: &'static str, parts: &[&str]) -> Self {
        let content = parts.concat();
        let mark = hex(&Sha256::digest(content.as_bytes())[..6]);
        Self { name, media, content, mark }
    }

    /// The file of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.name == name)
    }
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    let style = [include_str!("../assets/dashboard.css"), throng_chart::CSS];
    let script = [include_str!("../assets/dashboard.js")];
    [
        Asset::new("dashboard.css", "text/css; charset=utf-8", &style),
        Asset::new("dashboard.js", "text/javascript; charset=utf-8", &script),
        Asset::new("icon.svg", "image/svg+xml", &[include_str!("../assets/icon.svg")]),
    ]
});

/// The page that asks for a token.
pub(crate) fn login(frame: Frame, next: &str, wrong: bool) -> String {
    shown(&Login { frame, next, wrong }).unwrap_or_default()
}

/// The page of a problem.
pub(crate) fn problem(frame: Frame, status: u16, title: &str) -> String {
    let heading = match status {
        403 => "Not for this token",
        404 => "Not found",
        410 => "No longer here",
        429 | 503 => "Too busy for a moment",
        _ => "This did not work",
    };
    shown(&ProblemPage { frame, status, heading, title }).unwrap_or_default()
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
    heading: &'static str,
    title: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_is_shown_the_pages_that_they_may_read() {
        let frame = |role, reader: Option<Reader>| {
            let visitor = reader.map(|reader| Visitor { name: None, reader });
            Frame { role, open: false, visitor, here: "", simulated: false }
        };
        let names = |role, reader| -> Vec<&str> {
            frame(role, reader).menu().into_iter().map(|(_, name)| name).collect()
        };
        let (viewer, operator) = (Some(Reader::Viewer), Some(Reader::Operator));
        let all = ["Results", "Operations", "Planner", "Documentation"];
        assert_eq!(names(Some(Role::Analyzer), operator), all);
        assert_eq!(names(Some(Role::Analyzer), viewer), [all[0], all[2], all[3]]);
        assert_eq!(names(Some(Role::Mix), operator), ["Status", "Documentation"]);
        // A mix has one page, which a viewer may not open.
        assert_eq!(names(Some(Role::Mix), viewer), ["Documentation"]);
        assert_eq!(frame(Some(Role::Mix), viewer).home(), "/docs");
        for (role, reader) in [
            (Some(Role::Mix), operator),
            (Some(Role::Mix), None),
            (Some(Role::Analyzer), viewer),
            (None, None),
        ] {
            assert_eq!(frame(role, reader).home(), "/", "{role:?}, {reader:?}");
        }
        assert_eq!(names(Some(Role::Analyzer), None), ["Documentation"]);
        assert_eq!(names(None, None), ["Documentation"]);
    }

    #[test]
    fn every_page_names_the_files_that_it_needs() {
        let html = problem(Frame::default(), 404, "there is no such page");
        for Asset { name, mark, .. } in ASSETS.iter() {
            assert!(html.contains(&format!("\"/assets/{name}?{mark}\"")), "{name}");
        }
    }

    #[test]
    fn a_path_has_one_page_for_each_role() {
        for page in &PAGES {
            let same = PAGES.iter().filter(|other| {
                let both = other.role.is_none() || page.role.is_none() || other.role == page.role;
                other.path == page.path && both
            });
            assert_eq!(same.count(), 1, "{}", page.path);
            assert!(PAGES.iter().any(|other| other.path == page.under() && other.menu.is_some()));
        }
    }
}
