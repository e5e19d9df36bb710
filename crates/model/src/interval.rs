//! How far an estimate may be off: intervals of 95 %.

/// The 97.5 % quantile of the normal distribution.
pub const NORMAL_97_5: f64 = 1.96;

/// The 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5).
///
/// ```
/// assert!((headway_model::interval::students_97_5(10.0) - 2.228).abs() < 0.001);
/// ```
pub fn students_97_5(freedom: f64) -> f64 {
    let z = NORMAL_97_5;
    let [z3, z5, z7, z9] = [3, 5, 7, 9].map(|power| z.powi(power));
    let terms = [
        (z3 + z) / 4.0,
        (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0,
        (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0,
        (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z) / 92_160.0,
    ];
    z + terms.iter().zip(1..).map(|(term, power)| term / freedom.powi(power)).sum::<f64>()
}

/// The interval of a share that was estimated from so many independent observations (Wilson
/// 1927), where the interval reaches `width` standard errors to each side. Unlike
/// the normal one it ends at 0 and 1 and is right for rare things, too.
///
/// ```
/// let (low, high) = headway_model::interval::wilson(0.5, 100.0, 1.96);
/// assert!((low - 0.404).abs() < 0.001 && (high - 0.596).abs() < 0.001);
/// ```
pub fn wilson(share: f64, observations: f64, width: f64) -> (f64, f64) {
    if observations <= 0.0 {
        return (0.0, 1.0);
    }
    let square = width * width / observations;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = (square * share * (1.0 - share) + square * square / 4.0).max(0.0).sqrt() / (1.0 + square);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_always_or_never_seen_has_an_interval_too() {
        let (low, high) = wilson(1.0, 50.0, NORMAL_97_5);
        assert!((low - 0.929).abs() < 0.001 && high >= 1.0 - 1e-12, "{low} {high}");
        let (low, high) = wilson(0.0, 50.0, NORMAL_97_5);
        assert!(low.abs() < 1e-12 && (high - 0.071).abs() < 0.001, "{low} {high}");
        assert_eq!(wilson(0.3, 0.0, NORMAL_97_5), (0.0, 1.0));
    }

    #[test]
    fn few_observations_need_wider_intervals() {
        let quantiles = [1e9, 60.0, 20.0, 5.0].map(students_97_5);
        assert!((quantiles[0] - NORMAL_97_5).abs() < 1e-6);
        assert!(quantiles.windows(2).all(|two| two[0] < two[1]), "{quantiles:?}");
    }
}
