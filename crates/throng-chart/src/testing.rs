//! The charts that the tests of several modules draw.

use crate::{Axis, CSS, Chart, Scale, Series, Stroke};

pub(crate) fn series(name: &str, stroke: Stroke, points: &[(f64, f64)]) -> Series {
    Series::new(name, stroke, points.to_vec())
}

pub(crate) fn chart(scale: Scale, range: Option<(f64, f64)>, series: Vec<Series>) -> Chart {
    let axis = Axis { label: "quantity".to_owned(), scale, range };
    Chart { title: "A chart".to_owned(), x: axis.clone(), y: axis, series }
}

/// A text that would be markup, were it not escaped.
pub(crate) const HOSTILE: &str = "</title><script>alert(1)</script> & \" ' onload=x ]]>\u{0}";

/// Asserts what a page needs of a picture: well-formed markup, whose identifiers are unique and
/// defined, with nothing that a content security policy without inline styles would bar, no colours
/// or fonts, and no class that the style sheet does not know.
pub(crate) fn assert_fit_for_a_page(markup: &str) {
    let (mut open, mut ids, mut used) = (vec![], vec![], vec![]);
    let mut rest = markup;
    while let Some((text, tagged)) = rest.split_once('<') {
        assert_text(text);
        let (tag, after) = tagged.split_once('>').expect("the end of a tag");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(ELEMENTS.split(' ').any(|known| known == name), "<{name}>");
        for (key, value) in read_attributes(attributes) {
            assert_text(value);
            assert!(ATTRIBUTES.split(' ').any(|known| known == key), "{key}");
            match key {
                "id" => ids.push(value),
                "aria-labelledby" => used.extend(value.split(' ')),
                "clip-path" => {
                    let name = value.strip_prefix("url(#").and_then(|v| v.strip_suffix(')'));
                    used.push(name.expect("a reference"));
                }
                "fill" => assert_eq!(value, "none"),
                "class" => value.split(' ').for_each(assert_styled),
                _ => {}
            }
        }
        if !closed {
            open.push(name);
        }
    }
    assert_text(rest);
    assert!(open.is_empty(), "{open:?} never end");
    assert!(used.iter().all(|name| ids.contains(name)), "{used:?} in {ids:?}");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    assert!(!markup.contains("NaN") && !markup.contains("inf\"") && !markup.contains("inf "));
}

/// Every value of an attribute of the elements of a class, in their order.
pub(crate) fn values<'a>(markup: &'a str, class: &str, attribute: &str) -> Vec<&'a str> {
    let tags = markup.split('<').filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    let tags = tags.map(|tag| tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, "")).1);
    let of_class = tags.map(read_attributes).filter(|attributes| {
        let mut classes = attributes.iter().filter(|(key, _)| *key == "class");
        classes.any(|(_, value)| value.split(' ').any(|name| name == class))
    });
    of_class.flatten().filter(|(key, _)| *key == attribute).map(|(_, value)| value).collect()
}

/// The points of a path of straight lines.
pub(crate) fn corners(path: &str) -> Vec<(f64, f64)> {
    let pairs = path.trim_end_matches('z').split(['M', 'L']).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(' ').expect("a pair");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    pairs.map(pair).collect()
}

/// The attributes of a tag, each with a name of its own and a quoted value.
fn read_attributes(mut rest: &str) -> Vec<(&str, &str)> {
    let mut attributes: Vec<(&str, &str)> = vec![];
    while !rest.trim_start().is_empty() {
        let (key, after) = rest.trim_start().split_once("=\"").expect("a value in quotes");
        let (value, after) = after.split_once('"').expect("a closing quote");
        assert!(attributes.iter().all(|(other, _)| *other != key), "{key} twice");
        assert!(after.is_empty() || after.starts_with(' '), "{after}");
        attributes.push((key, value));
        rest = after;
    }
    attributes
}

fn assert_text(text: &str) {
    assert!(!text.contains(['<', '>']), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    let mut ampersands = text.split('&').skip(1);
    assert!(ampersands.all(|rest| ["amp;", "lt;", "gt;"].iter().any(|e| rest.starts_with(e))));
}

fn assert_styled(class: &str) {
    let selector = format!(".{class}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    assert!(CSS.split(&selector).skip(1).any(ends), "no rule for {selector}");
}

const ELEMENTS: &str = "div svg title desc g text tspan path rect circle clipPath";
const ATTRIBUTES: &str = "xmlns class role id viewBox width height font-size aria-labelledby \
     x y dy d cx cy r fill stroke-width stroke-dasharray text-anchor clip-path pointer-events \
     tabindex visibility";
