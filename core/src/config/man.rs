//! The manual page lapi_env(7), written from the table.

use super::{DEPRECATED, Group, VARIABLES, Variable};
use crate::transport::Known;
use std::fmt::Write;

/// The text of lapi_env(7), in roff: core's variables, then those that the transports declare.
pub fn environment_page(transports: &[Known]) -> String {
    let mut page = String::from(
        ".TH LAPI_ENV 7 \"\" Lapis \"Lapis manual\"\n\
         .SH NAME\n\
         lapi_env \\- environment variables of LAPI\n\
         .SH DESCRIPTION\n\
         LAPI reads these variables once, when the first context is initialized.\n\
         A value outside its range is an error that names the variable, the value and the range.\n\
         Unknown names that begin with LAPIS_, LAPI_ or MP_LAPI_ are reported together with the known name that is nearest.\n\
         Transports have variables of their own: those of other plugins than these are shown by lapis\\-info.\n\
         .B lapis\\-info \\-\\-config\n\
         lists the effective values and where they come from.\n",
    );
    let mut groups: Vec<Group> = VARIABLES.iter().map(|variable| variable.group).collect();
    groups.dedup();
    for group in groups {
        section(&mut page, &group.title());
        for variable in VARIABLES.iter().filter(|variable| variable.group == group) {
            entry(&mut page, variable);
        }
    }
    for Known { name, declaration, .. } in transports.iter().filter(|t| !t.declaration.variables.is_empty()) {
        section(&mut page, &Group::Transport(name).title());
        declaration.variables.iter().for_each(|variable| entry(&mut page, variable));
    }
    section(&mut page, &Group::Deprecated.title());
    for (name, instead) in DEPRECATED {
        let _ = writeln!(page, ".TP\n.B {name}\nNo longer has an effect: {}.", roff(instead));
    }
    page.push_str(".SH SEE ALSO\n.BR lapi (7),\n.BR lapirun (1),\n.BR lapis\\-info (1)\n");
    page
}

fn section(page: &mut String, title: &str) {
    let _ = writeln!(page, ".SH {}", title.to_uppercase());
}

fn entry(page: &mut String, variable: &Variable) {
    let default = variable.default.unwrap_or("not set");
    let _ = writeln!(page, ".TP\n.B {}\n{}.", variable.name, roff(variable.help));
    if !variable.more.is_empty() {
        let _ = writeln!(page, "{}", roff(variable.more));
    }
    let _ = writeln!(page, "Takes {}. Default: {}.", roff(&variable.kind.range()), roff(default));
    let _ = writeln!(page, "({})", roff(variable.source));
}

fn roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}
