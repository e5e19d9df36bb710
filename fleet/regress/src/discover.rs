//! The false discovery rate.

/// For every p-value the smallest rate at which it is among the discoveries (Benjamini and
/// Hochberg 1995): the q-value.
pub fn q_values(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut q = vec![1.0; p.len()];
    let mut smallest: f64 = 1.0;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p[index] * p.len() as f64 / (rank + 1) as f64);
        q[index] = smallest;
    }
    q
}

/// The p-value that one more discovery would have to be below.
pub fn threshold(q: &[f64], rate: f64) -> f64 {
    let discoveries = q.iter().filter(|q| **q <= rate).count();
    rate * (discoveries + 1).min(q.len().max(1)) as f64 / q.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_values_are_those_of_the_paper() {
        // The example of Benjamini and Hochberg (1995), section 3.2: 15 p-values, 4 discoveries at 5 %.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let q = q_values(&p);
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!((q[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12, "{q:?}");
        assert!((threshold(&q, 0.05) - 0.05 * 5.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn their_order_does_not_matter() {
        assert_eq!(q_values(&[0.5, 0.01]), [0.5, 0.02]);
        assert_eq!(q_values(&[]), Vec::<f64>::new());
        assert_eq!(threshold(&[], 0.01), 0.01);
    }
}
