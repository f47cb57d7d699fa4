//! Markdown to HTML: anchors as on GitHub, tables that scroll, nothing inline, no raw HTML.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use std::collections::BTreeMap;

/// A page that can be shown.
#[derive(Default)]
pub struct Chapter {
    /// The first heading.
    pub title: String,
    /// Headings of the second level: the anchor and the text.
    pub sections: Vec<(String, String)>,
    /// The whole page.
    pub html: String,
}

/// A page from its source. `target` says where a link leads; one that leads nowhere becomes text.
pub fn chapter(source: &str, target: impl Fn(&str) -> Option<String>) -> Chapter {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let events: Vec<Event> = Parser::new_ext(source, options).collect();
    let (mut page, mut writer) = (Chapter::default(), Writer::default());
    let mut out = Vec::with_capacity(events.len());
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let text = heading(&events[place..]);
                let id = writer.anchor(&text);
                out.push(raw(format!("<{level} id=\"{id}\">")));
                match level {
                    HeadingLevel::H1 if page.title.is_empty() => page.title = text,
                    HeadingLevel::H2 => page.sections.push((id, text)),
                    _ => {}
                }
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. })
            | Event::End(TagEnd::Link | TagEnd::Image) => out.extend(writer.link(event, &target)),
            Event::Start(Tag::CodeBlock(kind)) => {
                // What is wider than the page scrolls, which needs the keyboard's focus.
                out.push(raw(format!("<pre tabindex=\"0\"{}><code>", language(kind))));
            }
            Event::End(TagEnd::CodeBlock) => out.push(raw("</code></pre>\n")),
            Event::Html(text) | Event::InlineHtml(text) => {
                if !text.trim_start().starts_with("<!--") {
                    out.push(Event::Text(text.clone()));
                }
            }
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            event => out.push(event.clone()),
        }
    }
    html::push_html(&mut page.html, out.into_iter());
    // Text has neither `<` nor `>`, so that all of these are markup.
    for (written, shown) in TABLES {
        page.html = page.html.replace(written, shown);
    }
    page
}

/// The state that is kept from one event to the next.
#[derive(Default)]
struct Writer {
    /// The anchors that are taken, with the number of times.
    anchors: BTreeMap<String, u32>,
    /// For each link or picture that is open, whether it is kept.
    kept: Vec<bool>,
}

impl Writer {
    /// The anchor of a heading, by GitHub's rule: letters, digits, `-` and `_` in lower case, a
    /// hyphen for each space, and a number from the second one on.
    fn anchor(&mut self, text: &str) -> String {
        let kept = |c: &char| c.is_alphabetic() || c.is_ascii_digit() || " -_".contains(*c);
        let slug: String = text.to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let before = self.anchors.entry(slug.clone()).or_default();
        *before += 1;
        if *before == 1 { slug } else { format!("{slug}-{}", *before - 1) }
    }

    /// A link or picture with its address here, or nothing if it leads nowhere.
    fn link<'a>(
        &mut self,
        event: &Event<'a>,
        target: impl Fn(&str) -> Option<String>,
    ) -> Option<Event<'a>> {
        let mut event = event.clone();
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = &mut event {
            let to = target(dest_url);
            self.kept.push(to.is_some());
            *dest_url = to?.into();
            return Some(event);
        }
        self.kept.pop().unwrap_or(false).then_some(event)
    }
}

/// The text of the heading that begins here.
fn heading(events: &[Event]) -> String {
    let within = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let texts = within.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(&**text),
        _ => None,
    });
    texts.collect()
}

/// The attribute with the language of a code block, if the block names one.
fn language(kind: &CodeBlockKind) -> String {
    match kind {
        CodeBlockKind::Fenced(name)
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            format!(" class=\"language-{name}\"")
        }
        _ => String::new(),
    }
}

fn raw<'a>(markup: impl Into<String>) -> Event<'a> {
    Event::Html(markup.into().into())
}

/// The markup of tables as it is written, and as pages show it: scrolling, with classes in place of
/// styles. An empty header cell is no header.
const TABLES: [(&str, &str); 8] = [
    ("<table>", "<div class=\"scroll\" tabindex=\"0\"><table class=\"data\">\n"),
    ("</table>", "</table></div>"),
    ("<th>", "<th scope=\"col\">"),
    ("<th style", "<th scope=\"col\" style"),
    (" style=\"text-align: right\">", " class=\"num\">"),
    (" style=\"text-align: center\">", ">"),
    (" style=\"text-align: left\">", ">"),
    ("<th scope=\"col\"></th>", "<td></td>"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn html(source: &str) -> String {
        chapter(source, |to| (!to.starts_with("no")).then(|| format!("/docs/{to}"))).html
    }

    #[test]
    fn anchors_are_those_of_github() {
        let source = "# A\n\n## 3. The bag: `bit-sum`\n\n\
                      ## 5. Any ε₀-LDP randomizer, shuffled\n\n### A\n\n### A\n";
        let page = chapter(source, |_| None);
        assert_eq!(page.title, "A");
        let sections: Vec<&str> = page.sections.iter().map(|(id, _)| &**id).collect();
        assert_eq!(sections, ["3-the-bag-bit-sum", "5-any-ε-ldp-randomizer-shuffled"]);
        assert!(page.html.contains("<h3 id=\"a-1\">") && page.html.contains("<h3 id=\"a-2\">"));
    }

    #[test]
    fn markup_in_the_text_stays_text() {
        let html = html("<script>x</script>\n\na <b onclick=y>c\n\n<!-- not this -->\n\n`<i>`\n");
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;b onclick=y&gt;"), "{html}");
        assert!(html.contains("<code>&lt;i&gt;</code>") && !html.contains("not this"), "{html}");
    }

    #[test]
    fn a_table_scrolls_and_has_no_style() {
        let html = html("| a | b |\n|---|---:|\n| `x` | 2 |\n");
        assert_eq!(
            html,
            "<div class=\"scroll\" tabindex=\"0\"><table class=\"data\">\n<thead><tr>\
             <th scope=\"col\">a</th><th scope=\"col\" class=\"num\">b</th></tr></thead><tbody>\n\
             <tr><td><code>x</code></td><td class=\"num\">2</td></tr>\n</tbody></table></div>\n"
        );
    }

    #[test]
    fn a_link_to_what_is_not_here_is_text() {
        assert_eq!(html("[a](b.md) [c](no.md)"), "<p><a href=\"/docs/b.md\">a</a> c</p>\n");
        assert_eq!(
            html("![a](b.svg) ![c](no.svg)"),
            "<p><img src=\"/docs/b.svg\" alt=\"a\" /> c</p>\n"
        );
    }

    #[test]
    fn blocks_of_code_can_be_reached_by_keyboard() {
        assert_eq!(
            html("```console\n$ a <b>\n```\n"),
            "<pre tabindex=\"0\" class=\"language-console\"><code>$ a &lt;b&gt;\n</code></pre>\n"
        );
    }
}
