//! The look of charts on a page.

/// The style sheet of the look for pages, light and dark. Its custom properties, such as
/// `--chart-paper` for what is behind a chart, give way to those that a page sets for `:root`.
///
/// ```
/// let page = format!("<style>{} :root {{ --chart-paper: ivory }}</style>", throng_chart::CSS);
/// assert!(page.contains("--chart-paper: #fff"));
/// assert!(throng_chart::CSS.contains("prefers-color-scheme: dark"));
/// ```
pub const CSS: &str = include_str!("chart.css");

#[cfg(test)]
mod tests {
    use super::*;

    /// The properties of the light scheme, and of the dark one.
    fn schemes() -> [Vec<(&'static str, &'static str)>; 2] {
        let mut blocks = CSS.split(":where(:root) {").skip(1);
        [(); 2].map(|()| {
            let block = blocks.next().and_then(|rest| rest.split('}').next()).expect("a scheme");
            let rules = block.split(';').filter_map(|rule| rule.trim().split_once(": "));
            rules.collect()
        })
    }

    fn colour(scheme: &[(&str, &'static str)], name: &str) -> &'static str {
        scheme.iter().find(|(property, _)| *property == name).expect("a colour").1
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let size = digits.len() / 3;
        let channel = |at: usize| {
            let part = digits[at * size..(at + 1) * size].repeat(3 - size);
            let value = f64::from(u8::from_str_radix(&part, 16).expect("a number")) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        assert!((contrast("#000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((contrast("#777777", "#fff") - 4.48).abs() < 0.01);
    }

    #[test]
    fn graphics_and_texts_stand_out_in_both_schemes() {
        for scheme in schemes() {
            let paper = colour(&scheme, "--chart-paper");
            for text in ["--chart-ink", "--chart-soft"] {
                assert!(contrast(colour(&scheme, text), paper) >= 4.5, "{text} on {paper}");
            }
            let lines = (1..=7).map(|series| format!("--chart-{series}"));
            let parts = ["--chart-axis", "--chart-bar", "--chart-span"].map(str::to_owned);
            for part in lines.chain(parts) {
                assert!(contrast(colour(&scheme, &part), paper) >= 3.0, "{part} on {paper}");
            }
            let over = contrast(colour(&scheme, "--chart-span"), colour(&scheme, "--chart-bar"));
            assert!(over >= 3.0, "intervals over bars: {over}");
        }
    }

    #[test]
    fn both_schemes_set_the_same_properties() {
        let [light, dark] = schemes().map(|scheme| scheme.into_iter().map(|rule| rule.0));
        assert!(light.eq(dark));
    }

    #[test]
    fn every_brace_closes() {
        assert_eq!(CSS.matches('{').count(), CSS.matches('}').count());
    }
}
