//! Plots of ratios as SVG: a row for each name, a mark for each party, over a logarithmic axis with
//! a line at 1.

use crate::plot::{COLOURS, line, mark, text};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 58.0;
const ROW: f64 = 22.0;

/// A plot of ratios.
#[derive(Clone, Debug)]
pub struct Dots {
    /// Above the plot.
    pub title: String,
    /// Below the axis: what is divided by what.
    pub unit: String,
    /// The parties, as the legend names them.
    pub parties: Vec<String>,
    /// The rows' names, and a ratio of each party, where there is one. What is not above 0 is left
    /// out.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Dots {
    /// The SVG document; `None` when there is nothing to draw.
    pub fn svg(&self) -> Option<String> {
        let ratios =
            || self.rows.iter().flat_map(|r| r.1.iter().flatten()).filter(|r| **r > 0.0 && r.is_finite());
        ratios().next()?;
        // The line at 1 is always there, with some room on both sides.
        let low = ratios().fold(0.5, |low, &r| r.min(low)).log10() - 0.05;
        let high = ratios().fold(2.0, |high, &r| r.max(high)).log10() + 0.05;
        let place = |ratio: f64| LEFT + (ratio.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
        let bottom = TOP + ROW * self.rows.len() as f64;
        let height = bottom + BOTTOM;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        text(&mut svg, (LEFT, 26.0), "start", "font-size=\"16\" font-weight=\"bold\"", &self.title);
        for decade in low.floor() as i32..=high.ceil() as i32 {
            for step in [1, 2, 5] {
                let ratio = f64::from(step) * 10f64.powi(decade);
                if (low..=high).contains(&ratio.log10()) {
                    let shade = if ratio == 1.0 { "#222" } else { "#ddd" };
                    line(&mut svg, (place(ratio), TOP), (place(ratio), bottom), shade);
                    text(&mut svg, (place(ratio), bottom + 18.0), "middle", "", &format!("{ratio}"));
                }
            }
        }
        text(&mut svg, ((LEFT + WIDTH - RIGHT) / 2.0, bottom + 42.0), "middle", "", &self.unit);
        for (row, (name, ratios)) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (row as f64 + 0.5);
            text(&mut svg, (LEFT - 8.0, y + 4.5), "end", "", name);
            line(&mut svg, (LEFT, y), (WIDTH - RIGHT, y), "#eee");
            for (party, ratio) in ratios.iter().enumerate() {
                if let Some(ratio) = ratio.filter(|r| *r > 0.0 && r.is_finite()) {
                    mark(&mut svg, (place(ratio), y), party, COLOURS[party % COLOURS.len()]);
                }
            }
        }
        for (party, name) in self.parties.iter().enumerate() {
            let (x, y) = (WIDTH - RIGHT + 22.0, TOP + 10.0 + 22.0 * party as f64);
            mark(&mut svg, (x, y), party, COLOURS[party % COLOURS.len()]);
            text(&mut svg, (x + 14.0, y + 4.5), "start", "", name);
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dots(ratios: Vec<Option<f64>>) -> Dots {
        let rows = vec![("column".to_owned(), ratios)];
        Dots { title: "t".into(), unit: "a / b".into(), parties: vec!["a<b".into(), "c".into()], rows }
    }

    #[test]
    fn nothing_to_draw_is_none() {
        assert!(dots(vec![]).svg().is_none());
        assert!(dots(vec![None, Some(0.0), Some(f64::NAN)]).svg().is_none());
    }

    #[test]
    fn larger_ratios_stand_further_right() {
        let svg = dots(vec![Some(0.9), Some(150.0)]).svg().expect("two ratios");
        assert!(!svg.contains("NaN") && svg.contains("a&lt;b") && svg.contains("column"));
        // The first party's mark is a circle, the second one's a square; a legend has one of each
        // besides.
        let places = |begin: &str| -> Vec<f64> {
            svg.split(begin).skip(1).filter_map(|s| s.split('"').next()?.parse().ok()).collect()
        };
        let (circle, square) = (places("<circle cx=\"")[0], places("<rect x=\"")[0]);
        assert!(circle > LEFT && circle < square && square < WIDTH - RIGHT, "{circle} {square}");
    }
}
