//! The documentation, inside the program.
//!
//! Addresses mirror files: `docs/privacy.md` is `/docs/privacy.md`, so links between pages work
//! here as they do in the repository. What lies beside `docs`, such as `README.md`, is
//! `/docs/project/README.md`.

mod markdown;

use super::{Frame, shown};
use crate::http::Problem;
use askama::Template;
use markdown::{Chapter, chapter};
use std::sync::LazyLock;

/// The content at a path of the book.
pub(crate) enum Leaf {
    /// A whole page.
    Page(String),
    /// A picture, as SVG.
    Picture(&'static str),
}

/// The page or picture at this path.
pub(crate) fn book(path: &str, frame: Frame) -> Result<Leaf, Problem> {
    let address = format!("/docs/{path}");
    if let Some((_, source)) = PICTURES.iter().find(|(file, _)| url(file) == address) {
        return Ok(Leaf::Picture(source));
    }
    let here = pages().find(|page| page.url == address).ok_or(Problem::NO_PATH)?;
    Ok(Leaf::Page(shown(&Book { frame, here })?))
}

/// The address of the proof of a guarantee: a section of `docs/privacy.md` by its number.
pub(crate) fn proof(section: u8) -> String {
    let page = pages().find(|page| page.url == "/docs/privacy.md");
    let mut sections = page.iter().flat_map(|page| &page.chapter.sections);
    let found = sections.find(|(_, title)| title.starts_with(&format!("{section}. ")));
    found.map_or("/docs/privacy.md".to_owned(), |(id, _)| format!("/docs/privacy.md#{id}"))
}

/// A page of the book.
struct Page {
    url: String,
    chapter: Chapter,
}

#[derive(Template)]
#[template(path = "book.html")]
struct Book {
    frame: Frame,
    here: &'static Page,
}

/// The pages of each part, once somebody has asked for one.
static PARTS: LazyLock<[(&str, Vec<Page>); 3]> = LazyLock::new(|| {
    let page = |(file, source): &File| Page {
        url: url(file),
        chapter: chapter(source, |to| target(file, to)),
    };
    CONTENTS.map(|(name, files)| (name, files.iter().map(page).collect()))
});

/// All pages, in the order of the contents.
fn pages() -> impl Iterator<Item = &'static Page> {
    PARTS.iter().flat_map(|(_, pages)| pages)
}

/// The path at which a file of the repository is served.
fn url(file: &str) -> String {
    match file.strip_prefix("docs/") {
        Some(path) => format!("/docs/{path}"),
        None => format!("/docs/project/{file}"),
    }
}

/// The address that a link in a file leads to: elsewhere, on this page, or a file that is here too.
fn target(file: &str, to: &str) -> Option<String> {
    if to.starts_with('#') || to.starts_with("https://") {
        return Some(to.to_owned());
    }
    let (path, place) = to.split_at(to.find('#').unwrap_or(to.len()));
    let mut steps: Vec<&str> = file.split('/').collect();
    steps.pop();
    for step in path.split('/') {
        match step {
            "." | "" => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    let path = steps.join("/");
    let mut files = CONTENTS.iter().flat_map(|(_, files)| *files).chain(PICTURES);
    files.any(|(file, _)| *file == path).then(|| url(&path) + place)
}

/// A path in the repository and what is in the file.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../../", $file)))),*]
    };
}

/// The parts of the book, each with its files in the order of the contents.
const CONTENTS: [(&str, &[File]); 3] =
    [("The book", BOOK), ("Mechanisms", MECHANISMS), ("The project", PROJECT)];

const BOOK: &[File] = files![
    "docs/README.md"
    "docs/concepts.md"
    "docs/tutorial.md"
    "docs/choosing.md"
    "docs/client.md"
    "docs/rounds.md"
    "docs/operations.md"
    "docs/api.md"
    "docs/accountant.md"
    "docs/privacy.md"
    "docs/threat-model.md"
    "docs/protocol.md"
    "docs/decisions.md"
    "docs/faq.md"
    "docs/glossary.md"
];

const MECHANISMS: &[File] = files![
    "docs/mechanisms/README.md"
    "docs/mechanisms/counts.md"
    "docs/mechanisms/sums.md"
    "docs/mechanisms/histograms.md"
    "docs/mechanisms/strings.md"
    "docs/mechanisms/selection-and-queries.md"
    "docs/mechanisms/time.md"
];

const PROJECT: &[File] = files![
    "README.md"
    "ARCHITECTURE.md"
    "SECURITY.md"
    "CONTRIBUTING.md"
    "CHANGELOG.md"
];

const PICTURES: &[File] = files![
    "docs/flow.svg"
    "docs/diagrams/analyzer-sees.svg"
    "docs/diagrams/choosing.svg"
    "docs/diagrams/device.svg"
    "docs/diagrams/epoch.svg"
    "docs/diagrams/flow.svg"
    "docs/diagrams/mix-sees.svg"
    "docs/diagrams/models.svg"
    "docs/diagrams/rounds.svg"
    "docs/xor-sum.svg"
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn text(path: &str) -> Option<String> {
        match book(path, Frame::new(Role::Mix, false, None, "/docs")) {
            Ok(Leaf::Page(html)) => Some(html),
            Ok(Leaf::Picture(svg)) => Some(svg.to_owned()),
            Err(_) => None,
        }
    }

    /// Finds the pages and pictures below a directory. Manuals are made by a program, for another
    /// reader, and are left out.
    fn on_disk(root: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(root.join(below)).unwrap() {
            let entry = entry.unwrap();
            let file = format!("{below}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                if file != "docs/man" {
                    on_disk(root, &file, found);
                }
            } else if [Some("md"), Some("svg")]
                .contains(&file.rsplit_once('.').map(|(_, kind)| kind))
            {
                found.insert(file);
            }
        }
    }

    #[test]
    fn no_page_on_disk_is_forgotten() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::new();
        on_disk(&root, "docs", &mut found);
        let listed = [BOOK, MECHANISMS, PICTURES].concat();
        let listed: BTreeSet<String> = listed.iter().map(|(file, _)| (*file).to_owned()).collect();
        assert_eq!(listed, found, "add what is missing to a list of files");
    }

    #[test]
    fn every_page_is_there_with_the_contents_beside_it() {
        for page in pages() {
            let html = text(page.url.strip_prefix("/docs/").unwrap()).unwrap();
            assert!(html.contains("aria-current=\"page\">"), "{}", page.url);
            assert!(!page.chapter.title.is_empty(), "{}", page.url);
            assert!(!page.chapter.html.contains("style="), "{}", page.url);
        }
        assert!(text("flow.svg").unwrap().starts_with("<svg"));
        for path in ["", "../README.md", "privacy", "project/flow.svg", "man/throng.1"] {
            assert!(text(path).is_none(), "{path}");
        }
    }

    #[test]
    fn every_link_of_the_book_leads_somewhere() {
        let mut dead = Vec::new();
        for page in pages() {
            for part in page.chapter.html.split(" href=\"").skip(1) {
                let to = part.split('"').next().unwrap();
                let (url, place) = match to.split_once('#') {
                    Some(("", place)) => (&*page.url, place),
                    Some((url, place)) => (url, place),
                    None => (to, ""),
                };
                let there = pages().find(|page| page.url == url);
                let known = there.is_some_and(|page| {
                    place.is_empty() || page.chapter.html.contains(&format!(" id=\"{place}\""))
                });
                let picture = PICTURES.iter().any(|(file, _)| super::url(file) == url);
                if !known && !picture && !to.starts_with("https://") {
                    dead.push(format!("{}: {to}", page.url));
                }
            }
        }
        assert!(dead.is_empty(), "{dead:#?}");
    }

    #[test]
    fn links_follow_the_files() {
        let from = |file, to| target(file, to);
        assert_eq!(from("docs/privacy.md", "protocol.md"), Some("/docs/protocol.md".into()));
        assert_eq!(
            from("docs/mechanisms/sums.md", "../privacy.md#3-x"),
            Some("/docs/privacy.md#3-x".into())
        );
        assert_eq!(from("docs/privacy.md", "../README.md"), Some("/docs/project/README.md".into()));
        assert_eq!(from("README.md", "docs/flow.svg"), Some("/docs/flow.svg".into()));
        assert_eq!(from("README.md", "#top"), Some("#top".into()));
        for to in ["../crates/throng/src/main.rs", "../../x.md", "javascript:alert(1)", "http://x"]
        {
            assert_eq!(from("docs/privacy.md", to), None, "{to}");
        }
    }
}
