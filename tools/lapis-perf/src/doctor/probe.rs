//! Opens one transport alone and tells what it says of itself.

use super::finding::Finding;
use anyhow::{Result, bail};
use lapis::core::bootstrap;
use lapis::core::config::{Config, Environment};
use lapis::core::transport::{Caps, OpenParams, Request, Selection, search_dirs};

/// Prints what was found, a line each.
pub(super) fn run(name: &str) -> Result<()> {
    lapis_log::install();
    println!("{}", Finding::begun("open").line());
    let (config, _) = Config::from_env(&Environment::of_process())?;
    let mut registry = lapis::registry();
    let dirs = search_dirs(config.transport_path.get());
    let selection = Selection::Named(vec![name.to_owned()]);
    registry.discover(&Request { selection, dirs, ..Request::default() })?;
    let Some(plugin) = registry.get(name) else { bail!("{name} is gone") };
    let job = bootstrap::singleton(0)?;
    let job = job.job();
    let opened = plugin.open(&OpenParams {
        task: 0,
        tasks: 1,
        context: 0,
        incarnation: std::process::id(),
        job: &job.id,
        secret: &job.secret,
        interrupts: false,
    });
    let link = match opened {
        Ok(link) => link,
        Err(why) => {
            println!("{}", Finding::failed("open", why.to_string()).line());
            return Ok(());
        }
    };
    let (first, more) = parts(link.note());
    println!("{}", Finding::ok("open", first.to_owned()).line());
    for part in more {
        println!("{}", Finding::ok("  setup", part.to_owned()).line());
    }
    println!("{}", abilities(plugin.caps(), link.caps()).line());
    Ok(())
}

/// A note's first statement, and the others.
fn parts(note: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = note.split("; ");
    (parts.next().unwrap_or_default(), parts)
}

/// What works less well here than the transport's code could.
fn abilities(code: Caps, here: Caps) -> Finding {
    let missing: Vec<_> = (code - here - Caps::LENT_PAGES).iter_names().map(|(name, _)| name).collect();
    match missing.is_empty() {
        true => Finding::ok("abilities", "all that it can do".to_owned()),
        false => Finding::ok("abilities", format!("all that it can do but {}", missing.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_a_first_statement_and_others() {
        let (first, more) = parts("tcp;ofi_rxm on lo (libfabric 1.17); device lo: taken; registration: none");
        assert_eq!(first, "tcp;ofi_rxm on lo (libfabric 1.17)");
        assert_eq!(more.collect::<Vec<_>>(), ["device lo: taken", "registration: none"]);
        assert_eq!(parts("").0, "");
    }
}
