//! What does a curve look like? Lines and words, whoever draws them.

use std::fmt::Write;

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// Width and height of the drawing, and the room for its scales.
pub(super) const SIZE: (f64, f64) = (760.0, 360.0);
const LEFT: f64 = 56.0;
const BELOW: f64 = 40.0;

const WORDS: Colour = [0x22; 3];
const GRID: Colour = [0xdd; 3];

/// Where words stand beside their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Path { points: Vec<(f64, f64)>, colour: Colour, width: f64 },
    Text { at: (f64, f64), anchor: Anchor, text: String, colour: Colour },
}

/// One line of the curve.
pub(super) struct Line {
    pub name: &'static str,
    pub colour: Colour,
    /// Step and value.
    pub points: Vec<(f64, f64)>,
}

/// The lines over their scales.
pub(super) fn curve(lines: &[Line]) -> Vec<Shape> {
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let last = all().map(|p| p.0).fold(1.0, f64::max);
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p.1), h.max(p.1)));
    let (low, high) = if low < high { (low, high) } else { (low.min(0.0), high.max(1.0)) };
    let x = |step: f64| LEFT + step / last * (SIZE.0 - LEFT - 10.0);
    let y = |value: f64| 10.0 + (high - value) / (high - low) * (SIZE.1 - BELOW - 10.0);
    let mut shapes = Vec::new();
    for i in 0..=4 {
        let share = f64::from(i) / 4.0;
        let (value, step) = (low + share * (high - low), share * last);
        shapes.push(Shape::Path { points: vec![(LEFT, y(value)), (SIZE.0 - 10.0, y(value))], colour: GRID, width: 1.0 });
        let words = |at: (f64, f64), anchor: Anchor, text: String| Shape::Text { at, anchor, text, colour: WORDS };
        shapes.push(words((LEFT - 6.0, y(value) + 4.0), Anchor::End, format!("{value:.2}")));
        // The last number ends where the scale does.
        let anchor = if i == 4 { Anchor::End } else { Anchor::Middle };
        shapes.push(words((x(step), SIZE.1 - BELOW + 18.0), anchor, format!("{step:.0}")));
    }
    for (i, line) in lines.iter().filter(|line| !line.points.is_empty()).enumerate() {
        let points = line.points.iter().map(|p| (x(p.0), y(p.1))).collect();
        shapes.push(Shape::Path { points, colour: line.colour, width: 1.5 });
        let at = (LEFT + 10.0 + 220.0 * i as f64, SIZE.1 - 6.0);
        shapes.push(Shape::Text { at, anchor: Anchor::Start, text: line.name.to_owned(), colour: line.colour });
    }
    shapes
}

/// A drawing as SVG.
pub(super) fn svg(shapes: &[Shape]) -> String {
    let colour = |[r, g, b]: Colour| format!("#{r:02x}{g:02x}{b:02x}");
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="12" role="img"><rect width="100%" height="100%" fill="white"/>"#,
        SIZE.0, SIZE.1
    );
    for shape in shapes {
        let _ = match shape {
            Shape::Path { points, colour: of, width } => {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                write!(svg, r#"<polyline fill="none" stroke="{}" stroke-width="{width}" points="{}"/>"#, colour(*of), points.join(" "))
            }
            Shape::Text { at, anchor, text, colour: of } => {
                let anchor = ["start", "middle", "end"][*anchor as usize];
                write!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="{anchor}" fill="{}">{text}</text>"#, at.0, at.1, colour(*of))
            }
        };
    }
    svg.push_str("</svg>\n");
    svg
}
