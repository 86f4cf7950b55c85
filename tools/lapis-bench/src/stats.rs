//! Medians and their like.

/// What is printed of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The smallest.
    pub min: f64,
    /// The middle one: half are below.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub samples: usize,
}

impl Summary {
    /// Sums up samples; of no samples every field is NaN or 0.
    pub fn of(samples: &[f64]) -> Self {
        let sorted = sorted(samples);
        Self {
            min: sorted.first().copied().unwrap_or(f64::NAN),
            median: of_sorted(&sorted, 50.0),
            max: sorted.last().copied().unwrap_or(f64::NAN),
            samples: sorted.len(),
        }
    }

    /// The same in another unit, where the unit is a rate (so that the smallest time is the largest
    /// rate).
    pub fn inverted(self, factor: f64) -> Self {
        Self { min: factor / self.max, median: factor / self.median, max: factor / self.min, ..self }
    }

    /// The same in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self { min: self.min * factor, median: self.median * factor, max: self.max * factor, ..self }
    }
}

/// The median: NaN of no samples.
pub fn median(samples: &[f64]) -> f64 {
    percentile(samples, 50.0)
}

/// The value below which `percent` of the samples lie, interpolated between neighbours; NaN of no
/// samples.
pub fn percentile(samples: &[f64], percent: f64) -> f64 {
    of_sorted(&sorted(samples), percent)
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn of_sorted(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn percentiles_interpolate_and_reach_both_ends() {
        let samples = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(percentile(&samples, 0.0), 10.0);
        assert_eq!(percentile(&samples, 100.0), 50.0);
        assert_eq!(percentile(&samples, 90.0), 46.0);
    }

    #[test]
    fn inverting_swaps_the_ends() {
        let rate = Summary::of(&[10.0, 20.0, 40.0]).inverted(1000.0);
        assert_eq!((rate.min, rate.median, rate.max, rate.samples), (25.0, 50.0, 100.0, 3));
    }
}
