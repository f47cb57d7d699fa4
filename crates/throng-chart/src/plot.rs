//! The plot of a chart: the places of its points, between two axes.

use crate::span::{BLEED, Span};

/// The two axes, and the way coordinates are written.
pub(crate) struct Plot {
    pub(crate) x: Span,
    pub(crate) y: Span,
    pub(crate) px: fn(f64) -> String,
}

impl Plot {
    /// The place of a point, if the axes have one for it, within the plot or outside.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let admitted = self.x.scale.admits(x) && self.y.scale.admits(y);
        admitted.then(|| (self.x.place(x), self.y.place(y)))
    }

    /// The place of a point that is within the plot.
    pub(crate) fn seen(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x.seen(x)?, self.y.seen(y)?))
    }

    /// A place in a path.
    pub(crate) fn pair(&self, (across, up): (f64, f64)) -> String {
        format!("{} {}", (self.px)(across), (self.px)(up))
    }

    /// The path through some places.
    pub(crate) fn through(&self, places: impl Iterator<Item = (f64, f64)>) -> String {
        let pairs: Vec<String> = places.map(|place| self.pair(place)).collect();
        format!("M{}", pairs.join("L"))
    }

    /// The attribute of what ends at the edge of the plot, and the element that is this edge, which
    /// is named by its four sides.
    pub(crate) fn clip(&self, name: impl Fn([&str; 4]) -> String) -> (String, String) {
        // A little outside the plot, so that a line along its edge keeps its width.
        let [l, t] = [self.x.from, self.y.to].map(|edge| (self.px)(edge - BLEED));
        let [r, b] = [self.x.to, self.y.from].map(|edge| (self.px)(edge + BLEED));
        let name = name([&l, &t, &r, &b]);
        let edge = format!(r#"<clipPath id="{name}"><path d="M{l} {t}H{r}V{b}H{l}z"/></clipPath>"#);
        (format!(r#" clip-path="url(#{name})""#), edge)
    }
}
