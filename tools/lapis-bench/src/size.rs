//! Message sizes: what people write (`4KiB`, `1M`, `8-64K`), and how sizes are shown.

use thiserror::Error;

/// The largest size that the measuring programs accept.
pub const MAX: u64 = 64 << 20;

/// Why a text is not a size.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// Neither a number nor a number with a unit.
    #[error("`{0}` is not a size: write bytes, or a number with K, M, KiB or MiB, like 4KiB")]
    Malformed(String),
    /// Above [`MAX`].
    #[error("`{0}` is {1} bytes; sizes go up to {MAX} bytes (64MiB)")]
    TooLarge(String, u64),
    /// A range whose end is below its start.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
}

/// Reads one size. K and KiB are both 1024 bytes: message sizes are powers of two.
pub fn parse(text: &str) -> Result<u64, Error> {
    let malformed = || Error::Malformed(text.to_owned());
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        _ => return Err(malformed()),
    };
    let number: u64 = number.parse().map_err(|_| malformed())?;
    let bytes = number.saturating_mul(1 << shift);
    if bytes > MAX { Err(Error::TooLarge(text.to_owned(), bytes)) } else { Ok(bytes) }
}

/// Reads a list: sizes with commas, and ranges `8-1M` that double at each step.
pub fn parse_list(text: &str) -> Result<Vec<u64>, Error> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((from, to)) => {
                let (from, to) = (parse(from)?, parse(to)?);
                if from > to {
                    return Err(Error::Backwards(part.to_owned()));
                }
                sizes.extend(doubling(from, to));
            }
            None => sizes.push(parse(part)?),
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// `from`, then powers of two up to `to`, and `to` itself.
pub fn doubling(from: u64, to: u64) -> impl Iterator<Item = u64> {
    let powers = (0..=MAX.ilog2()).map(|shift| 1 << shift).filter(move |&s| s > from && s < to);
    let end = (to != from).then_some(to);
    std::iter::once(from).chain(powers).chain(end)
}

/// The shortest way to write a size: `8 B`, `4 KiB`, `1 MiB`, `1500 B`.
pub fn show(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units() {
        for (text, bytes) in
            [("0", 0), ("8", 8), (" 8 B", 8), ("4k", 4096), ("4KiB", 4096), ("64MB", 64 << 20)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_text() {
        for text in ["", "K", "-1", "1.5K", "1G", "ten"] {
            assert_eq!(parse(text), Err(Error::Malformed(text.to_owned())), "{text}");
        }
        assert_eq!(parse("65M"), Err(Error::TooLarge("65M".into(), 65 << 20)));
        assert!(matches!(parse("99999999999999999M"), Err(Error::TooLarge(..))));
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(parse_list("8-64,1K,3"), Ok(vec![3, 8, 16, 32, 64, 1024]));
        assert_eq!(parse_list("0-4"), Ok(vec![0, 1, 2, 4]));
        assert_eq!(parse_list("5-20"), Ok(vec![5, 8, 16, 20]));
        assert_eq!(parse_list("64-8"), Err(Error::Backwards("64-8".into())));
    }

    #[test]
    fn sizes_are_shown_in_the_largest_whole_unit() {
        for (bytes, text) in
            [(0, "0 B"), (1500, "1500 B"), (4096, "4 KiB"), (1 << 20, "1 MiB"), (MAX, "64 MiB")]
        {
            assert_eq!(show(bytes), text);
        }
    }
}
