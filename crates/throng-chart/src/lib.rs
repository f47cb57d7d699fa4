//! Numbers as pictures: line charts with bands and limits, bars with intervals, and sparklines, all
//! of them SVG without script.
//!
//! ```
//! use throng_chart::{Axis, Chart, Scale, Series, Stroke};
//!
//! let axis = |label: &str, scale| Axis { label: label.to_owned(), scale, range: None };
//! let chart = Chart {
//!     title: "Crashes per day".to_owned(),
//!     x: axis("epoch", Scale::Whole),
//!     y: axis("devices", Scale::Linear),
//!     series: vec![
//!         Series {
//!             band: vec![(598.9, 624.7), (590.2, 616.0)],
//!             notes: vec![String::new(), "epoch 2: 603.1, from 590.2 to 616".to_owned()],
//!             ..Series::new("estimate", Stroke::Solid, vec![(1.0, 611.8), (2.0, 603.1)])
//!         },
//!         Series::limit("alarm", 700.0),
//!     ],
//! };
//! assert!(chart.svg().starts_with("<svg"));
//! assert!(!chart.page("crashes").contains("style="));
//! ```
//!
//! A picture has up to two looks. One for files is a document of its own, with its colours and
//! fonts inside ([`Chart::svg`]). One for web pages ([`Chart::page`], [`Bars::page`],
//! [`sparkline`]) has classes in their place, which the page's style sheet has to know ([`CSS`]); a
//! strict content security policy lets it pass, because nothing in it is an inline style. Every
//! text is escaped, so labels may come from anyone.

mod bars;
mod calendar;
mod chart;
mod css;
mod document;
mod marks;
mod page;
mod plot;
mod span;
mod spark;
#[cfg(test)]
mod testing;
mod text;

pub use bars::{Bar, Bars};
pub use chart::{Axis, Chart, Scale, Series, Stroke};
pub use css::CSS;
pub use spark::sparkline;
