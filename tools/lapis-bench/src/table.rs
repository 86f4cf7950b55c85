//! Tables for a terminal or a Markdown page.

/// A table: a heading line and rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads. The first column is aligned to the left, the others
    /// (figures) to the right.
    pub fn new(heading: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { heading: heading.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// For a terminal: aligned columns under a rule.
    pub fn plain(&self) -> String {
        let widths = self.widths();
        let rule: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
        let lines = [&self.heading, &rule].into_iter().chain(&self.rows);
        lines.map(|cells| aligned(cells, &widths, "  ").trim_end().to_owned() + "\n").collect()
    }

    /// For a Markdown page.
    pub fn markdown(&self) -> String {
        let widths = self.widths();
        let line = |cells: &Vec<String>| format!("| {} |\n", aligned(cells, &widths, " | "));
        let rule = widths.iter().enumerate().map(|(i, &w)| match i {
            0 => format!("{}|", "-".repeat(w + 2)),
            _ => format!("{}:|", "-".repeat(w + 1)),
        });
        let mut text = line(&self.heading);
        text.push_str(&format!("|{}\n", rule.collect::<String>()));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }

    fn widths(&self) -> Vec<usize> {
        let cells = |column: usize| {
            let all = self.rows.iter().chain(std::iter::once(&self.heading));
            all.filter_map(move |r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
        };
        (0..self.heading.len()).map(cells).collect()
    }
}

/// Three significant digits, without exponents: `0.0123`, `4.56`, `78.9`, `1234`.
pub fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.09995 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

fn aligned(cells: &[String], widths: &[usize], between: &str) -> String {
    let cell = |(column, &width): (usize, &usize)| {
        let text = cells.get(column).map_or("", String::as_str);
        if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
    };
    widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["size", "ns"]);
        table.row(["8 B", "52.1"]);
        table.row(["4 KiB", "430"]);
        table
    }

    #[test]
    fn plain_columns_line_up() {
        assert_eq!(sample().plain(), "size     ns\n-----  ----\n8 B    52.1\n4 KiB   430\n");
    }

    #[test]
    fn markdown_has_a_rule_with_alignment() {
        assert_eq!(
            sample().markdown(),
            "| size  |   ns |\n|-------|-----:|\n| 8 B   | 52.1 |\n| 4 KiB |  430 |\n"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        let shown: Vec<String> = [0.01234, 0.5, 4.5678, 12.345, 99.96, 1234.5, f64::NAN].map(figure).into();
        assert_eq!(shown, ["0.0123", "0.500", "4.57", "12.3", "100", "1234", "-"]);
    }
}
