//! Texts in a picture: how wide they are, how they break, and how they become markup.
//!
//! The layout measures its texts with a table of rough glyph widths, so a chart needs no font at
//! hand. The estimates lean wide, because white space does less harm than an overlap.

/// The width of a text, about, by the widest of the common sans-serif fonts.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(em).sum::<f64>() * TEXT
}

/// The greatest of some widths, or nothing.
pub(crate) fn widest(widths: impl Iterator<Item = f64>) -> f64 {
    widths.fold(0.0, f64::max)
}

/// The words of a text in lines no wider than the room, unless a single word is.
pub(crate) fn wrap(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= room => {
                line.extend([" ", word]);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As much of a text as the room holds, with an ellipsis for the rest.
pub(crate) fn cut(text: &str, room: f64) -> String {
    let (mut taken, mut fits) = (0.0, 0);
    for (at, glyph) in text.char_indices() {
        if taken + width("…") <= room {
            fits = at;
        }
        taken += em(glyph) * TEXT;
        if taken > room {
            return format!("{}…", text[..fits].trim_end());
        }
    }
    text.to_owned()
}

/// As many lines of a text as a page has room for, none wider than the room.
pub(crate) fn lines(text: &str, room: f64) -> Vec<String> {
    let mut lines = wrap(text, room);
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines[MOST_LINES - 1].push('…');
    }
    lines.iter().map(|line| cut(line, room)).collect()
}

/// Lines of text, the first on this baseline.
pub(crate) fn text((x, y): (f64, f64), style: &str, lines: &[String]) -> String {
    let lines = lines.iter().enumerate().map(|(row, line)| {
        let (x, y) = (px(x), px(y + row as f64 * LINE));
        format!(r#"<tspan x="{x}" y="{y}">{}</tspan>"#, escape(line))
    });
    format!("<text {style}>{}</text>", lines.collect::<Vec<_>>().concat())
}

/// A text as markup, which cannot hold control characters. Those that turn the direction of writing
/// are among them: a label must not reorder the numbers beside it.
pub(crate) fn escape(text: &str) -> String {
    let barred = |c: char| {
        c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    let text = text.replace(barred, " ");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number to read: four digits, or all of its whole ones, with commas between thousands.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e12).contains(&size) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let decimals = if size == 0.0 { 0 } else { 3 - size.log10().floor() as i32 };
    let digits = format!("{size:.*}", decimals.max(0) as usize);
    let short = match digits.split_once('.') {
        Some(_) => digits.trim_end_matches('0').trim_end_matches('.'),
        None => &digits,
    };
    let shown = grouped(short);
    if value < 0.0 { format!("−{shown}") } else { shown }
}

/// A decimal with commas between the thousands before its point.
pub(crate) fn grouped(decimal: &str) -> String {
    let whole = decimal.find('.').unwrap_or(decimal.len());
    let sign = usize::from(decimal.starts_with('-'));
    let mut grouped = String::with_capacity(decimal.len() + decimal.len() / 3);
    for (at, digit) in decimal.char_indices() {
        if at > sign && at < whole && (whole - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A coordinate to a hundredth of a pixel; adding zero turns a negative zero positive.
pub(crate) fn px(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0 + 0.0)
}

/// A coordinate to a tenth, which is enough on a page and keeps long lines short.
pub(crate) fn tenth(value: f64) -> String {
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// The width of a glyph over the size of the text.
fn em(glyph: char) -> f64 {
    match glyph {
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '&' | '\u{2e80}'.. => 1.0,
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | ' '..='/' | ':' | ';' | '[' | ']' | '|' => 0.43,
        'A'..='Z' => 0.76,
        _ if glyph.is_alphanumeric() => 0.64,
        _ => 0.84,
    }
}

const MOST_LINES: usize = 3;
// Sizes in pixels.
pub(crate) const LINE: f64 = 18.0;
pub(crate) const TEXT: f64 = 13.0;
pub(crate) const RAISED: f64 = 9.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (611.8, "611.8"),
            (0.050_04, "0.05004"),
            (12.0, "12"),
            (-2.34567, "−2.346"),
            (999.96, "1,000"),
            (1_234_567.8, "1,234,568"),
            (1e-9, "1.000e−9"),
            (-2.5e15, "−2.500e15"),
        ];
        for (value, shown) in cases {
            assert_eq!(number(value), shown, "{value}");
        }
    }

    #[test]
    fn a_cut_text_fits_its_room_and_a_short_one_stays() {
        assert_eq!(cut("short", 200.0), "short");
        let long = "a label of so many words that no column has room for it";
        for room in [15.0, 40.0, 90.0, 200.0] {
            let shown = cut(long, room);
            assert!(shown.ends_with('…') && width(&shown) <= room, "{shown}");
        }
        assert_eq!(cut("wide", 0.0), "…");
        assert_eq!(cut("", 0.0), "");
    }

    #[test]
    fn lines_on_a_page_are_few_and_fit() {
        assert_eq!(lines("two words", 400.0), ["two words"]);
        for text in ["word ".repeat(10_000), "w".repeat(10_000)] {
            let shown = lines(&text, 300.0);
            assert!(shown.len() <= 3 && shown.iter().all(|line| width(line) <= 300.0));
            assert!(shown.last().is_some_and(|line| line.ends_with('…')));
        }
    }

    #[test]
    fn a_label_cannot_turn_the_direction_of_writing() {
        assert_eq!(escape("a\u{202e}b\u{2066}c"), "a b c");
    }

    #[test]
    fn coordinates_round_and_have_no_negative_zero() {
        assert_eq!((px(-0.001), px(1e-9 + 2.0)), ("0".to_owned(), "2".to_owned()));
        assert_eq!((tenth(-0.01), tenth(2.349)), ("0".to_owned(), "2.3".to_owned()));
    }
}
