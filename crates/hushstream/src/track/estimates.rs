//! From a noisy vector to estimates that fit together, each with an interval.
//!
//! Everything here is a function of releases, so it costs no privacy.
//!
//! **Groups and total.** A statistic is released for every group (variance v each) and for all
//! records (variance V). Both tell the total: the group sum has variance Gv. The total is their
//! mean by inverse variances, of variance VGv/(V + Gv), and every group gets an equal share of the
//! difference: with w = Gv/(V + Gv), group g is y_g + w·(Y − Σy)/G, of variance v(1 − w/G)² +
//! (G−1)v(w/G)² + V(w/G)². Groups then add up to the total. Bins get an equal share of the
//! difference between the group's count and their sum, so that they add up too: with B bins of
//! variance b and a count of variance n, b(1 − 1/B) + n/B².
//!
//! **Counts are not negative.** The estimates above are linear, so their errors are known exactly;
//! the intervals are theirs, cut at 0. Shown values are made to fit: the total is cut at 0, and the
//! groups are filled from the largest down until the total is used up, the others are 0. Large
//! groups keep their unbiased value. An interval is widened to hold the value that is shown, so it
//! covers the truth at least as often as before.
//!
//! **Means** are ratios of two noisy numbers, with Fieller's interval: all m with
//! |S − m·n| ≤ z·√(σ_S² + m²σ_n²), cut at the bounds of the column. It is exact, also where the
//! count is small; the delta method is not.
//!
//! **Quantiles.** Whether the q-quantile is at most the upper edge of bin k is the sign of
//! (1−q)·(records up to k) − q·(records above), whose noise is known. The interval begins below the
//! first edge for which "no" is not rejected, and ends above the last for which "yes" is not: each
//! side is one test at the true quantile, so it covers at least as often as stated, and more where
//! a bin is wider than the noise.

use super::asked::{Bins, Blocks, Shape};
use hushstream_mechanism::Statistics;
use serde::Serialize;

/// A released number: the value, and an interval that holds the truth with the stated probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// As [value, low, high].
impl Serialize for Estimate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.value, self.low, self.high].serialize(serializer)
    }
}

impl Estimate {
    /// Whether the interval holds a number.
    #[must_use]
    pub fn covers(&self, truth: f64) -> bool {
        (self.low..=self.high).contains(&truth)
    }

    fn around(linear: Linear, z: f64, shown: f64, (least, most): (f64, f64)) -> Self {
        let half = z * linear.variance.sqrt();
        let cut = |value: f64| value.max(least).min(most);
        let value = cut(shown);
        Self {
            value,
            low: cut(linear.value - half).min(value),
            high: cut(linear.value + half).max(value),
        }
    }
}

/// An unbiased estimate with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Linear {
    value: f64,
    variance: f64,
}

/// One statistic: of all records, and of every group; groups add up to all.
struct Family {
    all: Linear,
    groups: Vec<Linear>,
}

/// The noise of a view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    /// The deviation of one coordinate of the release.
    pub(crate) sd: f64,
    /// Half-widths of intervals, in deviations.
    pub(crate) z: f64,
}

const COUNTS: (f64, f64) = (0.0, f64::INFINITY);
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The estimates of a view: of all records first, then of every group; each with one number for
/// every column of [`columns`].
pub(crate) fn estimates(
    shape: &Shape,
    statistics: &Statistics,
    vector: &[f64],
    spread: Spread,
) -> Vec<Vec<Estimate>> {
    let z = spread.z;
    let of = |blocks, width, place| family(statistics, vector, spread.sd, blocks, width, place);
    let counts = of(shape.counts, 1, 0);
    let shown = fill(&counts);
    let rows = counts.groups.len() + 1;
    let mut table: Vec<Vec<Estimate>> = (0..rows)
        .map(|row| vec![Estimate::around(counts.row(row), z, shown[row], COUNTS)])
        .collect();
    for number in &shape.numbers {
        let sums = of(number.blocks, 1, 0);
        let (half, middle) = (
            (number.high - number.low) / 2.0,
            f64::midpoint(number.low, number.high),
        );
        for (row, cells) in table.iter_mut().enumerate() {
            let (sum, count) = (sums.row(row), counts.row(row));
            if number.is_summed {
                let total = Linear {
                    value: half * sum.value + middle * count.value,
                    variance: half.powi(2) * sum.variance + middle.powi(2) * count.variance,
                };
                cells.push(Estimate::around(total, z, total.value, ANY));
            }
            if number.has_mean {
                let mean = ratio(sum, count, z);
                let place = |share: f64| middle + half * share;
                cells.push(Estimate {
                    value: place(mean.value),
                    low: place(mean.low),
                    high: place(mean.high),
                });
            }
        }
    }
    for bins in &shape.histograms {
        histogram(shape, bins, &of, &counts, &shown, z, &mut table);
    }
    table
}

/// Adds the bins of a histogram, and its quantiles.
fn histogram(
    shape: &Shape,
    bins: &Bins,
    of: &dyn Fn(Blocks, usize, usize) -> Family,
    counts: &Family,
    shown: &[f64],
    z: f64,
    table: &mut [Vec<Estimate>],
) {
    let width = bins.bins as usize;
    let families: Vec<Family> = (0..width).map(|bin| of(bins.blocks, width, bin)).collect();
    let edge = |bin: f64| bins.low + (bins.high - bins.low) * bin / width as f64;
    // Values first of the groups, so that those of all records are their sums.
    let mut sums = vec![0.0; width];
    for row in (0..table.len()).rev() {
        let own: Vec<Linear> = families.iter().map(|family| family.row(row)).collect();
        let total: f64 = own.iter().map(|bin| bin.value).sum();
        let count = counts.row(row);
        let part = (count.value - total) / width as f64;
        let bin = |bin: &Linear| Linear {
            value: bin.value + part,
            variance: bin.variance * (1.0 - 1.0 / width as f64)
                + count.variance / (width * width) as f64,
        };
        let fitted: Vec<Linear> = own.iter().map(bin).collect();
        let values = if row == 0 && table.len() > 1 {
            std::mem::take(&mut sums)
        } else {
            let values: Vec<f64> = fitted.iter().map(|bin| bin.value).collect();
            filled(&values, shown[row])
        };
        if row > 0 {
            sums.iter_mut()
                .zip(&values)
                .for_each(|(sum, value)| *sum += value);
        }
        let cells = &mut table[row];
        for (bin, value) in fitted.iter().zip(&values) {
            cells.push(Estimate::around(*bin, z, *value, COUNTS));
        }
        for &share in &shape.quantiles {
            let found = quantile(&own, &values, share, z);
            cells.push(Estimate {
                value: edge(found.value),
                low: edge(found.low),
                high: edge(found.high),
            });
        }
    }
}

/// The names of the columns of [`estimates`], in order.
pub(crate) fn columns(shape: &Shape) -> Vec<String> {
    let mut names = vec!["count".to_owned()];
    for number in &shape.numbers {
        if number.is_summed {
            names.push(format!("sum {}", number.name));
        }
        if number.has_mean {
            names.push(format!("mean {}", number.name));
        }
    }
    for bins in &shape.histograms {
        let edge =
            |bin: u32| bins.low + (bins.high - bins.low) * f64::from(bin) / f64::from(bins.bins);
        let name = |bin: u32| format!("{} {}..{}", bins.name, edge(bin), edge(bin + 1));
        names.extend((0..bins.bins).map(name));
        let quantiles = shape.quantiles.iter();
        names.extend(quantiles.map(|share| format!("{} quantile {share}", bins.name)));
    }
    names
}

impl Family {
    fn row(&self, row: usize) -> Linear {
        match row {
            0 => self.all,
            row => self.groups[row - 1],
        }
    }
}

/// The estimates of one statistic: place `place` of `width` in its blocks.
fn family(
    statistics: &Statistics,
    vector: &[f64],
    sd: f64,
    blocks: Blocks,
    width: usize,
    place: usize,
) -> Family {
    let noisy = |block: usize| {
        let scale = statistics.scale(block);
        let values = vector[statistics.coordinates(block)].iter();
        let values = values.skip(place).step_by(width).map(move |x| x / scale);
        (values, (sd / scale).powi(2))
    };
    let (mut all, of_all) = noisy(blocks.all);
    let all = all.next().unwrap_or(f64::NAN);
    let Some(by_group) = blocks.by_group else {
        let all = Linear {
            value: all,
            variance: of_all,
        };
        return Family {
            all,
            groups: Vec::new(),
        };
    };
    let (groups, v) = noisy(by_group);
    let groups: Vec<f64> = groups.collect();
    let count = groups.len() as f64;
    let (sum, of_sum) = (groups.iter().sum::<f64>(), count * v);
    let w = of_sum / (of_all + of_sum);
    let share = w / count;
    let variance =
        v * (1.0 - share).powi(2) + (count - 1.0) * v * share.powi(2) + of_all * share.powi(2);
    Family {
        all: Linear {
            value: sum + w * (all - sum),
            variance: of_all * of_sum / (of_all + of_sum),
        },
        groups: groups
            .into_iter()
            .map(|value| Linear {
                value: value + share * (all - sum),
                variance,
            })
            .collect(),
    }
}

/// Values of counts that are not negative and add up: of all records, then of the groups.
fn fill(counts: &Family) -> Vec<f64> {
    let total = counts.all.value.max(0.0);
    let values: Vec<f64> = counts.groups.iter().map(|group| group.value).collect();
    let mut shown = vec![total];
    shown.extend(filled(&values, total));
    shown
}

/// The values, from the largest down, until the total is used up; then 0.
fn filled(values: &[f64], total: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let (mut shown, mut left) = (vec![0.0; values.len()], total);
    for &place in &order {
        shown[place] = values[place].clamp(0.0, left.max(0.0));
        left -= shown[place];
    }
    // Positive values may fall short of the total by rounding, or if all are negative.
    if let Some(&first) = order.first()
        && left > 0.0
    {
        shown[first] += left;
    }
    shown
}

/// A mean of numbers in [−1, 1]: sum over count, with Fieller's interval.
fn ratio(sum: Linear, count: Linear, z: f64) -> Estimate {
    let (s, n) = (sum.value, count.value);
    let (vs, vn) = (z * z * sum.variance, z * z * count.variance);
    let value = if n > 0.0 {
        (s / n).clamp(-1.0, 1.0)
    } else {
        0.0
    };
    let a = n * n - vn;
    if a <= 0.0 {
        return Estimate {
            value,
            low: -1.0,
            high: 1.0,
        };
    }
    let root = (s * s * n * n - a * (s * s - vs)).max(0.0).sqrt();
    let end = |sign: f64| ((s * n + sign * root) / a).clamp(-1.0, 1.0);
    Estimate {
        value,
        low: end(-1.0).min(value),
        high: end(1.0).max(value),
    }
}

/// A quantile in bins: from the shown values, with the interval of the noisy ones.
fn quantile(noisy: &[Linear], shown: &[f64], share: f64, z: f64) -> Estimate {
    let bins = noisy.len();
    let total: f64 = shown.iter().sum();
    let mut below = 0.0;
    let mut value = f64::midpoint(0.0, bins as f64);
    if total > 0.0 {
        value = bins as f64;
        for (bin, count) in shown.iter().enumerate() {
            if below + count >= share * total && *count > 0.0 {
                value = bin as f64 + ((share * total - below) / count).clamp(0.0, 1.0);
                break;
            }
            below += count;
        }
    }
    // How many deviations an edge lies above the quantile.
    let above = |edge: usize| {
        let (mut difference, mut variance) = (0.0, 0.0);
        for (bin, count) in noisy.iter().enumerate() {
            let weight = if bin < edge { 1.0 - share } else { -share };
            difference += weight * count.value;
            variance += weight * weight * count.variance;
        }
        difference / variance.sqrt()
    };
    let low = (1..bins).find(|&edge| above(edge) >= -z).unwrap_or(bins) - 1;
    let high = (1..bins).rev().find(|&edge| above(edge) <= z).unwrap_or(0) + 1;
    Estimate {
        value,
        low: (low as f64).min(value),
        high: (high as f64).max(value),
    }
}

/// The half-width, in deviations, of an interval that holds this share of a law with this excess
/// kurtosis: the normal quantile and the first term of Cornish and Fisher's expansion.
pub(crate) fn half_width(confidence: f64, kurtosis: f64) -> f64 {
    let beyond = |z: f64| libm::erfc(z / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if beyond(middle) > 1.0 - confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high + (high.powi(3) - 3.0 * high) / 24.0 * kurtosis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(value: f64, variance: f64) -> Linear {
        Linear { value, variance }
    }

    #[test]
    fn half_widths_by_hand() {
        assert!((half_width(0.95, 0.0) - 1.959_964).abs() < 1e-6);
        // One Laplace noise: 95 % lie within ln 20 scales, 2.118 deviations.
        let exact = 20_f64.ln() / 2_f64.sqrt();
        assert!((half_width(0.95, 3.0) / exact - 1.0).abs() < 0.03);
    }

    #[test]
    fn values_are_filled_from_the_largest() {
        assert_eq!(filled(&[5.0, -2.0, 7.0, 1.0], 11.0), [4.0, 0.0, 7.0, 0.0]);
        assert_eq!(filled(&[-5.0, -2.0], 3.0), [0.0, 3.0]);
        assert_eq!(filled(&[5.0, 4.0], 0.0), [0.0, 0.0]);
        assert!(filled(&[], 3.0).is_empty());
    }

    /// Fieller's interval by its definition: the ends solve the equation.
    #[test]
    fn means_by_their_definition() {
        let (sum, count, z) = (linear(30.0, 25.0), linear(100.0, 16.0), 1.96);
        let mean = ratio(sum, count, z);
        for end in [mean.low, mean.high] {
            let distance = (sum.value - end * count.value).abs();
            let deviation = (sum.variance + end * end * count.variance).sqrt();
            assert!((distance - z * deviation).abs() < 1e-9);
        }
        assert!((mean.value - 0.3).abs() < 1e-12 && mean.low < 0.3 && 0.3 < mean.high);
        // Nothing is known where the count may be zero.
        let nothing = ratio(sum, linear(5.0, 16.0), z);
        assert_eq!((nothing.low, nothing.high), (-1.0, 1.0));
    }

    #[test]
    fn quantiles_of_exact_bins() {
        let bins: Vec<Linear> = [10.0, 20.0, 30.0, 40.0]
            .map(|count| linear(count, 1e-12))
            .to_vec();
        let shown = [10.0, 20.0, 30.0, 40.0];
        let median = quantile(&bins, &shown, 0.5, 1.96);
        assert!((median.value - (2.0 + 20.0 / 30.0)).abs() < 1e-9);
        assert_eq!((median.low, median.high), (2.0, 3.0));
        let most = quantile(&bins, &shown, 0.95, 1.96);
        assert_eq!((most.low, most.high), (3.0, 4.0));
    }
}
