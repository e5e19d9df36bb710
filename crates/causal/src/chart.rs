//! A target's curve as a drawing.

use crate::gains::{Report, TargetReport};
use crate::statistics::Fit;
use std::fmt::Write;

/// Size of the drawing, and the frame's distance from its edges.
const SIZE: (f64, f64) = (460.0, 240.0);
const LEFT: f64 = 52.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
const RIGHT: f64 = 24.0;

/// Where things are in the drawing.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn x(&self, speedup: f64) -> f64 {
        LEFT + (SIZE.0 - LEFT - RIGHT) * speedup
    }

    fn y(&self, effect: f64) -> f64 {
        let part = (effect.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        SIZE.1 - BOTTOM - (SIZE.1 - TOP - BOTTOM) * part
    }
}

/// A distance between two lines of the grid: 1, 2 or 5 times a power of ten.
fn step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= rough);
    times.unwrap_or(10.0) * power
}

/// Points with their intervals, and the curve through them.
pub fn chart(report: &Report, target: &TargetReport) -> String {
    let effect = |gain: f64| report.measure.effect(gain);
    let fit = Fit { slope: target.slope, cap: target.cap };
    let of_points = target.points.iter().flat_map(|point| {
        let [low, high] = point.ci95.unwrap_or([point.gain; 2]);
        [effect(point.gain), effect(low), effect(high)]
    });
    let (low, high) = of_points.fold((0.0_f64, 0.05_f64), |(low, high), y| (low.min(y), high.max(y)));
    let step = step(high - low);
    let scale = Scale { low: (low / step).floor() * step, high: (high / step).ceil() * step };
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Measured effect by speedup, with 95 % intervals\">",
        SIZE.0, SIZE.1
    );
    grid(&mut out, &scale, step);
    let curve: Vec<String> = (0..=100)
        .map(|at| f64::from(at) / 100.0)
        .map(|speedup| format!("{:.1},{:.1}", scale.x(speedup), scale.y(effect(fit.gain(speedup)))))
        .collect();
    let _ = write!(out, "<polyline class=\"fit\" points=\"{}\"/>", curve.join(" "));
    for point in &target.points {
        let x = scale.x(point.speedup);
        if let Some([low, high]) = point.ci95 {
            let (low, high) = (scale.y(effect(low)), scale.y(effect(high)));
            let _ = write!(
                out,
                "<path class=\"whisker\" d=\"M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h8M{:.1} {high:.1}h8\"/>",
                x - 4.0,
                x - 4.0
            );
        }
        let _ =
            write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3.5\"/>", scale.y(effect(point.gain)));
    }
    out + "</svg>"
}

fn grid(out: &mut String, scale: &Scale, step: f64) {
    let lines = ((scale.high - scale.low) / step).round() as i32;
    for number in 0..=lines {
        let effect = scale.low + f64::from(number) * step;
        let (y, class) = (scale.y(effect), if effect.abs() < step / 10.0 { "zero" } else { "axis" });
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.*} %</text>",
            SIZE.0 - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            usize::from(step < 0.01),
            effect * 100.0
        );
    }
    for speedup in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0} %</text>",
            scale.x(speedup),
            SIZE.1 - BOTTOM + 16.0,
            speedup * 100.0
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">virtual speedup</text>",
        scale.x(0.5),
        SIZE.1 - 4.0
    );
}
