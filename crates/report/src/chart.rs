//! Draws figures: as SVG by ourselves, which serves first paint, images and paper, and as plotly's JSON for pages.
//! Both work from the same description and scale values the same way.

mod measure;
pub mod plotly;
pub mod svg;
