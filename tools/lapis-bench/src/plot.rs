//! Plots as SVG: lines over two logarithmic axes, readable on white and as a small picture on a
//! page.

use crate::size;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 62.0;

/// Width and height of every plot.
pub const EXTENT: (f64, f64) = (WIDTH, HEIGHT);

/// Colours that differ for colour-blind readers too; with the marks they tell ten lines apart twice
/// over.
pub(crate) const COLOURS: &[&str] = &[
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#444444", "#7a3fb0", "#e0a000",
    "#007a8a",
];

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Size in bytes and value. Points that logarithmic axes can't show (value ≤ 0) are left out.
    pub points: Vec<(u64, f64)>,
}

/// A plot over message sizes.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above the plot.
    pub title: String,
    /// Beside the vertical axis, with the unit.
    pub unit: String,
    /// The lines; the first is drawn on top and thickest.
    pub series: Vec<Series>,
}

/// Both axes: how values become places.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    /// The SVG document; `None` when there is no point to draw.
    pub fn svg(&self) -> Option<String> {
        let axes = Axes::around(&self.series)?;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        text(&mut svg, (LEFT, 26.0), "start", "font-size=\"16\" font-weight=\"bold\"", &self.title);
        axes.grid(&mut svg, &self.unit);
        for (index, series) in self.series.iter().enumerate().rev() {
            draw(&mut svg, &axes, index, series);
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

impl Axes {
    fn around(series: &[Series]) -> Option<Self> {
        let points = || series.iter().flat_map(|s| &s.points).filter(|p| p.1 > 0.0 && p.1.is_finite());
        let (mut x, mut y) = ((f64::MAX, f64::MIN), (f64::MAX, f64::MIN));
        for &(bytes, value) in points() {
            let place = across(bytes);
            x = (x.0.min(place), x.1.max(place));
            y = (y.0.min(value.log10()), y.1.max(value.log10()));
        }
        points().next()?;
        // A single size still gets an axis of two octaves; values get room above and below.
        let x = if x.1 - x.0 < 1.0 { (x.0 - 1.0, x.1 + 1.0) } else { x };
        let y = ((y.0 - 0.06).floor_to_nice(), (y.1 + 0.06).ceil_to_nice());
        Some(Self { x, y })
    }

    fn place_x(&self, bytes: u64) -> f64 {
        LEFT + (across(bytes) - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    fn place_y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value.log10() - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn grid(&self, svg: &mut String, unit: &str) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for decade in self.y.0.floor() as i32..=self.y.1.ceil() as i32 {
            for step in 1..10 {
                let value = f64::from(step) * 10f64.powi(decade);
                if value.log10() < self.y.0 - 1e-9 || value.log10() > self.y.1 + 1e-9 {
                    continue;
                }
                let y = self.place_y(value);
                let shade = if step == 1 { "#bbb" } else { "#eee" };
                line(svg, (LEFT, y), (right, y), shade);
                // Within few decades the steps need names, or the axis would show a single number.
                let few = self.y.1 - self.y.0 < 2.2;
                if step == 1 || (few && (step == 2 || step == 5)) {
                    text(svg, (LEFT - 8.0, y + 4.0), "end", "", &plain(value));
                }
            }
        }
        let octaves = (self.x.1 - self.x.0) as usize;
        // A label needs the room of about a ninth of the axis.
        let stride = octaves.div_ceil(9).max(1);
        let first = self.x.0.ceil().max(-1.0) as i32;
        for octave in (first..=self.x.1.floor() as i32).step_by(stride) {
            let bytes = if octave < 0 { 0 } else { 1u64 << octave };
            let x = self.place_x(bytes);
            line(svg, (x, TOP), (x, bottom), "#ddd");
            text(svg, (x, bottom + 18.0), "middle", "", &size::show(bytes));
        }
        svg.push_str(&format!(
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
            right - LEFT,
            bottom - TOP
        ));
        text(svg, ((LEFT + right) / 2.0, HEIGHT - 16.0), "middle", "", "message size");
        let (x, y) = (20.0, (TOP + bottom) / 2.0);
        text(svg, (x, y), "middle", &format!("transform=\"rotate(-90 {x} {y})\""), unit);
    }
}

/// Rounds the ends of an axis to 1, 2 or 5 times a power of ten.
trait Nice {
    fn floor_to_nice(self) -> f64;
    fn ceil_to_nice(self) -> f64;
}

impl Nice for f64 {
    fn floor_to_nice(self) -> f64 {
        let steps = [5f64, 2.0, 1.0].map(|s| self.floor() + s.log10());
        steps.into_iter().find(|&s| s <= self).unwrap_or(self.floor())
    }

    fn ceil_to_nice(self) -> f64 {
        let steps = [1f64, 2.0, 5.0, 10.0].map(|s| self.floor() + s.log10());
        steps.into_iter().find(|&s| s >= self).unwrap_or(self.ceil())
    }
}

fn draw(svg: &mut String, axes: &Axes, index: usize, series: &Series) {
    let colour = COLOURS[index % COLOURS.len()];
    let shown: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter(|p| p.1 > 0.0 && p.1.is_finite())
        .map(|&(bytes, value)| (axes.place_x(bytes), axes.place_y(value)))
        .collect();
    let path: Vec<String> = shown.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (width, dashes) =
        if index == 0 { (3.0, "") } else { (1.8, if index.is_multiple_of(2) { "6 3" } else { "" }) };
    svg.push_str(&format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\"/>\n",
        path.join(" ")
    ));
    shown.iter().for_each(|&at| mark(svg, at, index, colour));
    let y = TOP + 10.0 + 22.0 * index as f64;
    let x = WIDTH - RIGHT + 16.0;
    line(svg, (x, y), (x + 26.0, y), colour);
    mark(svg, (x + 13.0, y), index, colour);
    let weight = if index == 0 { "font-weight=\"bold\"" } else { "" };
    text(svg, (x + 34.0, y + 4.5), "start", weight, &series.name);
}

pub(crate) fn mark(svg: &mut String, (x, y): (f64, f64), index: usize, colour: &str) {
    svg.push_str(&match index % 3 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\" fill=\"{colour}\"/>\n"),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" fill=\"{colour}\"/>\n",
            x - 3.0,
            y - 3.0
        ),
        _ => format!("<path d=\"M{x:.1} {:.1}l4 7h-8z\" fill=\"{colour}\"/>\n", y - 4.5),
    });
}

pub(crate) fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    svg.push_str(&format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\n",
        from.0, from.1, to.0, to.1
    ));
}

pub(crate) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, more: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    svg.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{words}</text>\n"
    ));
}

/// Where a size stands on an axis of octaves; 0 bytes gets a place below 1 byte.
fn across(bytes: u64) -> f64 {
    if bytes == 0 { -1.0 } else { (bytes as f64).log2() }
}

fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(u64, f64)>) -> Plot {
        let series = vec![Series { name: "a<b".into(), points }];
        Plot { title: "t".into(), unit: "ns".into(), series }
    }

    #[test]
    fn a_plot_without_points_is_none() {
        assert!(plot(vec![]).svg().is_none());
        assert!(plot(vec![(8, 0.0), (16, f64::NAN)]).svg().is_none());
    }

    #[test]
    fn one_point_has_finite_places() {
        let svg = plot(vec![(8, 50.0)]).svg().unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.contains("a&lt;b"));
    }

    #[test]
    fn larger_values_are_drawn_higher_and_larger_sizes_further_right() {
        let axes = Axes::around(&plot(vec![(0, 1.0), (64 << 20, 1e6)]).series).unwrap();
        assert!(axes.place_y(1e6) < axes.place_y(1.0) && axes.place_x(1 << 20) > axes.place_x(0));
        assert!((axes.place_x(0) - LEFT).abs() < 1e-6);
    }

    #[test]
    fn axes_end_at_nice_numbers() {
        let close = |a: f64, b: f64| assert!((a - b.log10()).abs() < 1e-9, "{a} {b}");
        close(43f64.log10().floor_to_nice(), 20.0);
        close(43f64.log10().ceil_to_nice(), 50.0);
        close(99f64.log10().ceil_to_nice(), 100.0);
    }
}
