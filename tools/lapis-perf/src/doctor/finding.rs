//! What the doctor has found, as lines for people and as JSON.

use serde::{Deserialize, Serialize};
use std::io::Write as _;

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// A check that has begun: if nothing follows, it has not ended.
    Begun,
    Ok,
    Warning,
    Failed,
}

/// One check and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) status: Status,
    pub(super) text: String,
    /// What to do, where the text does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Finding {
    fn new(check: &str, status: Status, text: String) -> Self {
        Self { check: check.to_owned(), status, text, remedy: None }
    }

    pub(super) fn begun(check: &str) -> Self {
        Self::new(check, Status::Begun, String::new())
    }

    pub(super) fn ok(check: &str, text: String) -> Self {
        Self::new(check, Status::Ok, text)
    }

    pub(super) fn warning(check: &str, text: String, remedy: &str) -> Self {
        Self { remedy: Some(remedy.to_owned()), ..Self::new(check, Status::Warning, text) }
    }

    /// Lapis's own errors say what to do.
    pub(super) fn failed(check: &str, text: String) -> Self {
        Self::new(check, Status::Failed, text)
    }

    pub(super) fn with_remedy(self, remedy: &str) -> Self {
        Self { remedy: Some(remedy.to_owned()), ..self }
    }

    pub(super) fn is_failure(&self) -> bool {
        self.status == Status::Failed
    }

    /// The same about something that nobody asked for.
    pub(super) fn at_most_warning(self) -> Self {
        Self { status: self.status.min(Status::Warning), ..self }
    }

    /// As a line by which one process tells another.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The opposite.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    fn write(&self, out: &mut String) {
        let (status, colon) = match self.status {
            Status::Begun | Status::Ok => ("ok", ""),
            Status::Warning => ("warning", ":"),
            Status::Failed => ("failed", ":"),
        };
        // One line each, whatever a library writes into its errors.
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let remedy = self.remedy.as_ref().map_or_else(String::new, |remedy| format!("; remedy: {remedy}"));
        *out += &format!("  {:<14} {status}{colon} {text}{remedy}\n", self.check);
    }
}

/// What was found about the machine or about one transport.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// A transport's name, or `machine`.
    subject: String,
    /// The file that the transport was loaded from.
    #[serde(skip_serializing_if = "String::is_empty")]
    origin: String,
    checks: Vec<Finding>,
}

impl Section {
    pub(super) fn of(subject: &str, origin: String) -> Self {
        Self { subject: subject.to_owned(), origin, checks: Vec::new() }
    }

    pub(super) fn of_machine() -> Self {
        Self::of("machine", String::new())
    }

    pub(super) fn push(&mut self, finding: Finding) {
        self.checks.push(finding);
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.checks.extend(findings);
    }

    fn text(&self) -> String {
        let mut out = self.subject.clone();
        if !self.origin.is_empty() {
            out += &format!(", from {}", self.origin);
        }
        out.push('\n');
        self.checks.iter().for_each(|finding| finding.write(&mut out));
        out
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    version: &'static str,
    failures: usize,
    warnings: usize,
    sections: Vec<Section>,
    #[serde(skip)]
    json: bool,
}

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self { version: env!("CARGO_PKG_VERSION"), failures: 0, warnings: 0, sections: Vec::new(), json }
    }

    /// Takes a section up; people see it at once.
    pub(super) fn show(&mut self, section: Section) {
        let count = |status| section.checks.iter().filter(|finding| finding.status == status).count();
        self.failures += count(Status::Failed);
        self.warnings += count(Status::Warning);
        if !self.json {
            write(&section.text());
        }
        self.sections.push(section);
    }

    /// Ends the report; gives the exit code.
    pub(super) fn finish(self) -> u8 {
        if self.json {
            write(&(serde_json::to_string_pretty(&self).unwrap_or_default() + "\n"));
        } else {
            write(&format!("{} failed, {} with a warning\n", self.failures, self.warnings));
        }
        u8::from(self.failures > 0)
    }
}

/// A closed pipe (`lapis-perf doctor | head`) is no reason to complain.
fn write(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_one_line_that_says_what_to_do() {
        let mut out = String::new();
        Finding::ok("open", "fine".to_owned()).write(&mut out);
        Finding::warning("memory", "little\nof it".to_owned(), "buy more").write(&mut out);
        Finding::failed("puts", "lost".to_owned()).with_remedy("try again").write(&mut out);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0], "  open           ok fine");
        assert_eq!(lines[1], "  memory         warning: little of it; remedy: buy more");
        assert_eq!(lines[2], "  puts           failed: lost; remedy: try again");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn findings_pass_between_processes_and_other_lines_are_none() {
        let finding = Finding::failed("puts", "a \"quoted\"\nline".to_owned()).with_remedy("none");
        assert_eq!(Finding::of_line(&finding.line()), Some(finding));
        assert_eq!(Finding::of_line("hello"), None);
    }

    #[test]
    fn what_nobody_asked_for_fails_nothing() {
        let refused = Finding::failed("open", "no adapter".to_owned()).at_most_warning();
        assert!(!refused.is_failure());
        assert_eq!(Finding::ok("open", String::new()).at_most_warning().status, Status::Ok);
    }
}
