//! Parsing and formatting of numbers.

/// A whole number, also written 1e6 or 1_000_000.
///
/// # Errors
/// Text that is no whole number.
pub fn count(text: &str) -> Result<u64, String> {
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if let Ok(whole) = plain.parse() {
        return Ok(whole);
    }
    let limit = 2_f64.powi(53);
    match plain.parse::<f64>() {
        Ok(value) if value >= 0.0 && value <= limit && value.fract() == 0.0 => Ok(value as u64),
        _ => Err("expected a whole number, such as 1000 or 1e6".to_owned()),
    }
}

/// A finite number.
///
/// # Errors
/// Text that is no finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("expected a finite number, such as 0.5 or 1e-6".to_owned()),
    }
}

/// Formats a number with commas between thousands.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// About four significant digits.
#[must_use]
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&magnitude) {
        format!("{value:.3e}")
    } else {
        let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{value:.decimals$}")
    }
}

/// A δ: 0, or as a power of ten.
#[must_use]
pub fn delta(value: f64) -> String {
    if value > 0.0 {
        format!("{value:e}")
    } else {
        "0".to_owned()
    }
}

/// A share in percent, rounded up: whole numbers, and one decimal below ten.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 10.0 {
        format!("{}", (10.0 * percent - 1e-9).ceil().max(0.0) / 10.0)
    } else {
        format!("{}", (percent - 1e-9).ceil())
    }
}

/// Bytes with a unit.
#[must_use]
pub fn bytes(value: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1000.0 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{} {}", short(scaled), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        assert_eq!(count("1e6"), Ok(1_000_000));
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(count("327,346"), Ok(327_346));
        for bad in ["", "1.5", "-3", "1e30", "nan", "ten"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        assert!(finite("inf").is_err() && finite("x").is_err());
    }

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(grouped(1_048_575), "1,048,575");
        assert_eq!(grouped(7), "7");
        assert_eq!(short(86.5712), "86.57");
        assert_eq!(short(0.000_001), "1.000e-6");
        assert_eq!(bytes(10_368), "10.37 kB");
        let shares = [0.0, 1e-9, 0.0114, 0.5, 0.991, 1.0].map(percent);
        assert_eq!(shares, ["0", "0.1", "1.2", "50", "100", "100"]);
        assert_eq!((delta(1e-6).as_str(), delta(0.0).as_str()), ("1e-6", "0"));
    }
}
