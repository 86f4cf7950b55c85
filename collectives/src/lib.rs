//! Schedules, groups and teams over the Lapis core.
