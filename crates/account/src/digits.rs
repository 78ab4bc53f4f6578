//! Numbers in print, rounded in a stated direction.
//!
//! Three significant digits. "Not below" holds up to the half float by which a decimal literal
//! differs from the number it denotes: δ = 1e-6 prints as 1e-6.

/// 1234567 as "1,234,567".
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The direction in which a printed number may differ from the real one.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
}

/// Three significant digits, not below the number: "1.00", "36.8", "0.00124", "1.24e-7".
pub(crate) fn rounded_up(value: f64) -> String {
    plain(value, Direction::Up)
}

/// Three significant digits, not above the number.
pub(crate) fn rounded_down(value: f64) -> String {
    plain(value, Direction::Down)
}

/// At most three significant digits in scientific notation, not below the number: "1e-6",
/// "1.05e-6", "0".
pub(crate) fn scientific_up(value: f64) -> String {
    let (digits, exponent) = three_digits(value, Direction::Up);
    if digits == 0 {
        return "0".to_owned();
    }
    let fraction = format!("{:02}", digits % 100);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}e{exponent}", digits / 100)
}

fn plain(value: f64, direction: Direction) -> String {
    let (digits, exponent) = three_digits(value, direction);
    match exponent {
        _ if digits == 0 => "0".to_owned(),
        // Digits × 10^{exponent − 2}, exactly: no further rounding.
        2..=17 => grouped(u64::from(digits) * 10_u64.pow(exponent.unsigned_abs() - 2)),
        1 => format!("{}.{}", digits / 10, digits % 10),
        -4..=0 => {
            let zeros = usize::try_from(-exponent).unwrap_or(0);
            let all = format!("{}{digits}", "0".repeat(zeros));
            format!("{}.{}", &all[..1], &all[1..])
        }
        _ => format!("{}.{:02}e{exponent}", digits / 100, digits % 100),
    }
}

/// (d, x) with 100 ≤ d ≤ 999 and d·10^{x−2} the closest three-digit decimal on the right side of a
/// finite value ≥ 0; (0, 0) for zero.
///
/// The standard library prints the exact value correctly rounded and parses correctly rounded, so
/// comparing the parsed decimal with the value tells which side it is on, to the half float that
/// any decimal literal is off.
fn three_digits(value: f64, direction: Direction) -> (u32, i32) {
    if value <= 0.0 {
        return (0, 0);
    }
    let printed = format!("{value:.2e}");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let digits = mantissa.replace('.', "").parse().unwrap_or(999);
    let exponent = exponent.parse().unwrap_or(i32::MAX);
    let decimal: f64 = printed.parse().unwrap_or(f64::NAN);
    match direction {
        Direction::Up if decimal < value && digits == 999 => (100, exponent + 1),
        Direction::Up if decimal < value => (digits + 1, exponent),
        Direction::Down if decimal > value && digits == 100 => (999, exponent - 1),
        Direction::Down if decimal > value => (digits - 1, exponent),
        _ => (digits, exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers_never_claim_less() {
        assert_eq!(rounded_up(1.004), "1.01");
        assert_eq!(rounded_up(1.000_000_000_1), "1.01");
        assert_eq!(rounded_up(1.0), "1.00");
        assert_eq!(rounded_up(9.999), "10.0");
        assert_eq!(rounded_up(12.31), "12.4");
        assert_eq!(rounded_up(1234.0), "1,240");
        assert_eq!(rounded_up(0.001_234), "0.00124");
        assert_eq!(rounded_up(1.231e-7), "1.24e-7");
        assert_eq!(rounded_up(0.0), "0");
        assert_eq!(rounded_down(36.89), "36.8");
        assert_eq!(rounded_down(99.96), "99.9");
        assert_eq!(scientific_up(1e-6), "1e-6");
        assert_eq!(scientific_up(1.041e-6), "1.05e-6");
        assert_eq!(scientific_up(9.999e-7), "1e-6");
        let mut value = 1e-12_f64;
        while value < 1e12 {
            let up: f64 = rounded_up(value).replace(',', "").parse().unwrap();
            let down: f64 = rounded_down(value).replace(',', "").parse().unwrap();
            let scientific: f64 = scientific_up(value).parse().unwrap();
            assert!(down <= value && value <= up && value <= scientific);
            assert!(up <= value * 1.0101 && down >= value * 0.99);
            value *= 1.0137;
        }
    }

    #[test]
    fn thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
