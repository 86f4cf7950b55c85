//! How `liblapi_r.so` is linked.

use std::time::UNIX_EPOCH;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    lapis_linking::library("liblapi_r.so", 1);
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        version_symbols();
    }
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=BUILD_OF_LAPIS={profile}, {target}, {}", when());
}

/// When the library is built, as date and time of day; SOURCE_DATE_EPOCH says it for builds that
/// are to be equal.
fn when() -> String {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    // What the library consists of: its time is that of its last change.
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../../core/src");
    let told = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse::<i64>().ok());
    let now = || UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64);
    let seconds = told.unwrap_or_else(now);
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("built {year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a number of days since 1970. Years begin in March, so that leap days come
/// last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Gives every symbol the soname as its version, so that a program which finds a library of another
/// major says so when it starts. The version script that the compiler passes is anonymous, and
/// linkers refuse one with names beside it; GNU ld has an option that needs no script. Without that
/// linker the symbols have no versions, and everything else is the same.
fn version_symbols() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join("ld.bfd").is_file()) {
        lapis_linking::argument("-fuse-ld=bfd");
        lapis_linking::argument("-Wl,--default-symver");
    } else {
        println!("cargo::warning=no ld.bfd: the symbols of liblapi_r.so get no versions");
    }
}
