//! `docs/api.md` is `openapi.json` in words. `THRONG_WRITE_DOCS=1` writes the page again instead of
//! comparing with it.

use serde_json::Value;
use std::fmt::Write;
use std::{env, fs};

#[test]
fn the_page_says_what_the_machine_readable_form_says() {
    let description = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    let page = render(&description);
    if env::var_os("THRONG_WRITE_DOCS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "docs/api.md is out of date: run this test with THRONG_WRITE_DOCS=1");
}

fn render(description: &Value) -> String {
    let mut page = "# The HTTP API\n".to_owned();
    for text in INTRODUCTION {
        paragraph(&mut page, text);
    }
    let operations = operations(&description["paths"]);
    page.push_str("\n| request | |\n|---|---|\n");
    for (request, operation) in &operations {
        let summary = text(operation, "summary");
        let _ = writeln!(page, "| [`{request}`](#{}) | {summary} |", slug(request));
    }
    for (request, operation) in &operations {
        let _ = writeln!(page, "\n## `{request}`");
        paragraph(&mut page, &format!("{}.", text(operation, "summary")));
        paragraph(&mut page, text(operation, "description"));
        access(&mut page, operation);
        parameters(&mut page, operation);
        body(&mut page, &operation["requestBody"]);
        answers(&mut page, operation);
    }
    let schemes = members(&description["components"]["securitySchemes"]);
    if !schemes.is_empty() {
        page.push_str("\n## Access\n\n| | |\n|---|---|\n");
    }
    for (name, scheme) in schemes {
        let _ = writeln!(page, "| {name} | {} |", text(scheme, "description"));
    }
    page.push_str("\n## Bodies\n");
    for (name, schema) in members(&description["components"]["schemas"]) {
        let _ = writeln!(page, "\n### {name}");
        paragraph(&mut page, text(schema, "description"));
        page.push_str("\n| field | type | |\n|---|---|---|\n");
        fields(&mut page, "", schema);
    }
    page
}

/// Every operation under its method and path.
fn operations(paths: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (path, methods) in members(paths) {
        for (method, operation) in members(methods) {
            if METHODS.contains(&method) {
                found.push((format!("{} {path}", method.to_uppercase()), operation));
            }
        }
    }
    found
}

/// Writes which tokens open it, where any are asked for.
fn access(page: &mut String, operation: &Value) {
    let schemes = operation["security"].as_array().into_iter().flatten();
    let names: Vec<_> = schemes.flat_map(members).map(|(name, _)| name).collect();
    if !names.is_empty() {
        paragraph(page, &format!("[Access](#access): {}.", names.join(" or ")));
    }
}

fn parameters(page: &mut String, operation: &Value) {
    let Some(list) = operation["parameters"].as_array().filter(|list| !list.is_empty()) else {
        return;
    };
    page.push_str("\n| parameter | in | type | |\n|---|---|---|---|\n");
    for parameter in list {
        let [name, place, about] = ["name", "in", "description"].map(|key| text(parameter, key));
        let _ = writeln!(page, "| `{name}` | {place} | {} | {about} |", kind(&parameter["schema"]));
    }
}

fn body(page: &mut String, request: &Value) {
    if !request.is_null() {
        let about = text(request, "description");
        paragraph(page, &format!("Body: {about}. {}", media(request)));
    }
}

fn answers(page: &mut String, operation: &Value) {
    page.push_str("\n| answer | | body |\n|---|---|---|\n");
    for (status, answer) in members(&operation["responses"]) {
        let _ =
            writeln!(page, "| {status} | {} | {} |", text(answer, "description"), media(answer));
    }
}

/// The media types of a body, each with a link to its form where it has one.
fn media(holder: &Value) -> String {
    let one = |(media, content): (&str, &Value)| match link(&content["schema"]) {
        Some(link) => format!("`{media}`, {link}"),
        None => format!("`{media}`"),
    };
    members(&holder["content"]).into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Writes a row for every field, nested ones after the one that holds them.
fn fields(page: &mut String, prefix: &str, schema: &Value) {
    let needed: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in members(&schema["properties"]) {
        let at = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let mut about = text(field, "description").to_owned();
        if !needed.contains(&name) && !needed.is_empty() {
            about = format!("{about} (may be missing)").trim_start().into();
        }
        let _ = writeln!(page, "| `{at}` | {} | {about} |", kind(field));
        fields(page, &at, field);
        fields(page, &format!("{at}[]"), &field["items"]);
    }
}

/// The type of a value in a few words.
fn kind(schema: &Value) -> String {
    if let Some(link) = link(schema) {
        return link;
    }
    let quoted = |value: &Value| format!("`{}`", value.as_str().unwrap_or_default());
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(quoted).collect::<Vec<_>>().join(", ");
    }
    let named = match &schema["type"] {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        one => one.as_str().unwrap_or("any").to_owned(),
    };
    match (&schema["items"], schema["pattern"].as_str()) {
        (items, _) if items.is_object() && named == "array" => format!("array of {}", kind(items)),
        (_, Some(pattern)) => format!("{named} `{}`", pattern.replace('|', "\\|")),
        _ => named,
    }
}

fn link(schema: &Value) -> Option<String> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    Some(format!("[{name}](#{})", slug(name)))
}

/// Writes a paragraph after an empty line, wrapped as the other pages are.
fn paragraph(page: &mut String, text: &str) {
    let mut room = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if room > length {
            page.push(' ');
            room -= length + 1;
        } else {
            page.push('\n');
            room = WIDTH.saturating_sub(length);
        }
        page.push_str(word);
    }
    if !text.is_empty() {
        page.push('\n');
    }
}

/// A member that is text, or empty text if it is not there.
fn text<'a>(holder: &'a Value, key: &str) -> &'a str {
    holder[key].as_str().unwrap_or_default()
}

/// The members of an object, in the order of the file.
fn members(object: &Value) -> Vec<(&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect()
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    heading.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");

const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// The most characters of a line outside tables.
const WIDTH: usize = 100;

const INTRODUCTION: [&str; 2] = [
    "What mixes and analyzers answer, made from `/openapi.json`, which every party serves. The \
     bytes of keys, directories, reports, batches, receipts and bulletins are described in \
     [protocol.md](protocol.md); what each party does with them, and what the words of problems \
     mean, is in its [section 6](protocol.md#6-http). `{id}` is a collection's id, 64 hexadecimal \
     digits; epochs, windows, rounds and hops are decimal.",
    "An error is a problem document (RFC 9457) whose `type` is `urn:throng:problem:` and a word. \
     It never repeats what was sent. The answer to an upload depends on its path, its length and \
     the state of the server, never on what is inside a report.",
];
