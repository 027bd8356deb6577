//! How does a drawing become a picture of dots?
//!
//! Lines cover each dot by their distance from it, letters are those of [`letters`](super::letters). The file is PNG (RFC 2083): eight bits a colour,
//! rows without filters, compressed as a whole.

use std::io::{Result, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::drawing::{Colour, SIZE, Shape};
use super::letters::{ADVANCE, HEIGHT, dots};

/// Dots of the picture for one of the drawing's units, and for one of a letter's.
const SCALE: f64 = 2.0;
const LETTER: usize = 2;

struct Picture {
    width: usize,
    height: usize,
    dots: Vec<Colour>,
}

/// The file of a drawing.
pub(super) fn png(shapes: &[Shape]) -> Result<Vec<u8>> {
    let (width, height) = ((SIZE.0 * SCALE) as usize, (SIZE.1 * SCALE) as usize);
    let mut picture = Picture { width, height, dots: vec![[255; 3]; width * height] };
    shapes.iter().for_each(|shape| picture.draw(shape));
    let rows: Vec<u8> = picture.dots.chunks(width).flat_map(|row| [0].into_iter().chain(row.as_flattened().iter().copied())).collect();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&rows)?;
    let sizes = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    let chunks = [(b"IHDR", [&sizes[..], &[8, 2, 0, 0, 0]].concat()), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())];
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, bytes) in chunks {
        let body = [&name[..], &bytes].concat();
        let mut crc = Crc::new();
        crc.update(&body);
        file.extend([&(bytes.len() as u32).to_be_bytes()[..], &body, &crc.sum().to_be_bytes()].concat());
    }
    Ok(file)
}

impl Picture {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Path { points, colour, width } => self.path(points, *colour, width * SCALE / 2.0),
            Shape::Text { at, anchor, text, colour } => {
                let width = (text.chars().count() * ADVANCE * LETTER) as f64;
                let left = at.0 * SCALE - width * [0.0, 0.5, 1.0][*anchor as usize];
                let top = at.1 * SCALE - (HEIGHT * LETTER) as f64;
                for (i, letter) in text.chars().enumerate() {
                    for (column, row) in dots(letter) {
                        let x = left as usize + (i * ADVANCE + column) * LETTER;
                        let places = (0..LETTER * LETTER).map(|n| (x + n % LETTER, top as usize + row * LETTER + n / LETTER));
                        places.for_each(|(x, y)| self.mix(x, y, *colour, 1.0));
                    }
                }
            }
        }
    }

    /// Each dot takes the colour as far as the line covers it, once, however many parts of the line pass by.
    fn path(&mut self, points: &[(f64, f64)], colour: Colour, half: f64) {
        let mut covered = std::collections::BTreeMap::new();
        for pair in points.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (x * SCALE, y * SCALE));
            let (dx, dy) = (x1 - x0, y1 - y0);
            let from = |a: f64, b: f64| (a.min(b) - half - 1.0).max(0.0) as usize;
            let to = |a: f64, b: f64, end: usize| ((a.max(b) + half + 1.0).max(0.0) as usize).min(end - 1);
            for y in from(y0, y1)..=to(y0, y1, self.height) {
                for x in from(x0, x1)..=to(x0, x1, self.width) {
                    let (px, py) = (x as f64 + 0.5 - x0, y as f64 + 0.5 - y0);
                    let along = ((px * dx + py * dy) / (dx * dx + dy * dy).max(1e-9)).clamp(0.0, 1.0);
                    let share = (half + 0.5 - (px - along * dx).hypot(py - along * dy)).clamp(0.0, 1.0);
                    let most = covered.entry((x, y)).or_insert(0.0f64);
                    *most = most.max(share);
                }
            }
        }
        covered.into_iter().for_each(|((x, y), share)| self.mix(x, y, colour, share));
    }

    fn mix(&mut self, x: usize, y: usize, colour: Colour, share: f64) {
        if x < self.width && y < self.height {
            let dot = &mut self.dots[y * self.width + x];
            dot.iter_mut()
                .zip(colour)
                .for_each(|(old, new)| *old = (f64::from(*old) * (1.0 - share) + f64::from(new) * share).round() as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::drawing::{Line, curve};
    use super::*;

    #[test]
    fn a_picture_has_its_lines_where_the_drawing_has_them() {
        let colour = [0x24, 0x63, 0xa8];
        let shapes = curve(&[Line { name: "a loss", colour, points: vec![(0.0, 2.0), (100.0, 1.0)] }]);
        let file = png(&shapes).unwrap();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n"));
        let (mut at, mut rows, mut names) = (8, Vec::new(), Vec::new());
        while at < file.len() {
            let len = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            let body = &file[at + 4..at + 8 + len];
            let mut crc = Crc::new();
            crc.update(body);
            assert_eq!(crc.sum().to_be_bytes(), file[at + 8 + len..at + 12 + len]);
            names.push(String::from_utf8(body[..4].to_vec()).unwrap());
            if body.starts_with(b"IDAT") {
                flate2::read::ZlibDecoder::new(&body[4..]).read_to_end(&mut rows).unwrap();
            }
            at += 12 + len;
        }
        assert_eq!((names.join(" ").as_str(), rows.len()), ("IHDR IDAT IEND", 720 * (1 + 1520 * 3)));
        let dot = |x: usize, y: usize| &rows[y * (1 + 1520 * 3) + 1 + x * 3..][..3];
        let Some(Shape::Path { points, .. }) = shapes.iter().find(|s| matches!(s, Shape::Path { colour: of, .. } if *of == colour)) else {
            panic!("{shapes:?}")
        };
        let middle = ((points[0].0 + points[1].0) * SCALE / 2.0, (points[0].1 + points[1].1) * SCALE / 2.0);
        assert_eq!(dot(middle.0 as usize, middle.1 as usize), colour, "on the line");
        assert_eq!(dot(middle.0 as usize, middle.1 as usize - 40), [255; 3], "above it");
        assert!((0..1520).any(|x| (690..715).any(|y| dot(x, y) == colour)), "its name stands below");
    }
}
