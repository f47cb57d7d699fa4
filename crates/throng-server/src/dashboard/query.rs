//! The query of a page, after the question mark.

/// Names and values, as decoded text. Nothing in it is trusted.
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the raw query.
    pub fn parse(raw: &str) -> Self {
        // Links repeat what is asked for, row after row: what is long or comes twice is left out.
        let pairs = form_urlencoded::parse(raw.as_bytes()).take(FIELDS);
        let mut query = Self(Vec::new());
        for (name, value) in pairs.filter(|(_, value)| value.len() <= LONGEST) {
            if query.get(&name).is_none() {
                query.0.push((name.into_owned(), value.into_owned()));
            }
        }
        query
    }

    /// The first value of this name that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, value)| key == name && !value.is_empty());
        values.next().map(|(_, value)| value.as_str())
    }

    /// The query of the same page with one value changed, or removed.
    pub fn with(&self, name: &str, value: &str) -> String {
        let kept = self.0.iter().filter(|(key, value)| {
            key != name && key != PART && !value.is_empty() && KNOWN.contains(&key.as_str())
        });
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(kept.map(|(key, value)| (key, value)));
        if !value.is_empty() {
            query.append_pair(name, value);
        }
        format!("?{}", query.finish())
    }

    /// True if a script asks for the part of the page that changes.
    pub fn part(&self) -> bool {
        self.get(PART).is_some()
    }
}

/// The most fields that are looked at.
const FIELDS: usize = 32;

/// The most bytes of a value: a label may be this long.
const LONGEST: usize = 1_024;

const PART: &str = "part";

/// The names that pages pass on in their links.
const KNOWN: [&str; 6] = ["release", "view", "sort", "order", "q", "label"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_changes_one_thing_and_passes_on_what_is_known() {
        let query = Query::parse("release=3&q=a%26b&part=1&other=x&view=");
        assert_eq!(query.get("q"), Some("a&b"));
        assert_eq!((query.get("view"), query.part()), (None, true));
        assert_eq!(query.with("release", "4"), "?q=a%26b&release=4");
        assert_eq!(query.with("release", ""), "?q=a%26b");
    }
}
