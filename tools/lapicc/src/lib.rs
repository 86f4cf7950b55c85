//! Wrapper compilers: the system's compiler with what programs of LAPI and of ACP need added.
//!
//! `lapicc -show …` prints the command instead of running it. The compiler behind it is `cc`
//! (`c++`, `gfortran`), or what the variable `LAPIS_CC` (`LAPIS_CXX`, `LAPIS_FC`) says, words
//! separated by blanks. Everything else is handed on as it is.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Options with which the compiler does not link.
const NO_LINK: &[&str] = &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "-dumpmachine"];

/// Whose programs are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    /// How this program names itself, and the interface.
    command: &'static str,
    name: &'static str,
    header: &'static str,
    library: &'static str,
    /// Where the header is in the source tree.
    sources: &'static str,
}

const LAPI: Interface = Interface {
    command: "lapicc",
    name: "LAPI",
    header: "lapi.h",
    library: "lapi_r",
    sources: "../../bindings/lapi/include",
};

const ACP: Interface = Interface {
    command: "acpcc",
    name: "ACP",
    header: "acp.h",
    library: "acp",
    sources: "../../bindings/acp/include",
};

/// Where the header and the library are.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    interface: Interface,
    include: PathBuf,
    /// Where `lapif.h` and the module are: an installed tree has them beside `lapi.h`.
    fortran: PathBuf,
    lib: PathBuf,
}

/// What a compiler needs besides directories.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    Fortran,
}

/// Entry of LAPI's commands: `variable` names the compiler, `default` is it otherwise.
pub fn main(variable: &str, default: &str) -> ExitCode {
    start(LAPI, Language::C, variable, default)
}

/// Entry of `lapifc`.
pub fn fortran() -> ExitCode {
    start(LAPI, Language::Fortran, "LAPIS_FC", "gfortran")
}

/// Entry of `acpfc`.
pub fn acp_fortran() -> ExitCode {
    start(ACP, Language::Fortran, "LAPIS_FC", "gfortran")
}

/// Entry of ACP's commands.
pub fn acp(variable: &str, default: &str) -> ExitCode {
    start(ACP, Language::C, variable, default)
}

fn start(interface: Interface, language: Language, variable: &str, default: &str) -> ExitCode {
    let header = interface.header;
    match std::env::current_exe() {
        Ok(me) => match Tree::around(interface, &me) {
            Some(tree) => run(&tree, language, variable, default),
            None => fail(
                interface,
                &format!(
                    "no {header} beside {}: neither <prefix>/include/{header} nor a source tree; install with `cargo xtask install`",
                    me.display()
                ),
            ),
        },
        Err(e) => fail(interface, &format!("cannot find out where this program is: {e}")),
    }
}

fn fail(interface: Interface, what: &str) -> ExitCode {
    eprintln!("{}: {what}", interface.command);
    ExitCode::FAILURE
}

/// What `--help` prints; the compiler's own help is the compiler's to print.
fn help(interface: Interface, compiler: &str, variable: &str) -> String {
    format!(
        "Runs {compiler} with what {} programs need added: where the header and the library are.\n\
         \n\
         \x20 -show   print the command instead of running it\n\
         \x20 --help  this text\n\
         \n\
         All other words are handed on to the compiler as they are; `{compiler} --help` lists them.\n\
         {variable} names another compiler, with options if need be.\n",
        interface.name
    )
}

fn run(tree: &Tree, language: Language, variable: &str, default: &str) -> ExitCode {
    let compiler = std::env::var(variable).ok().filter(|c| !c.trim().is_empty());
    let (mut show, mut user) = (false, Vec::new());
    for argument in std::env::args_os().skip(1) {
        if argument == "-show" || argument == "--show" {
            show = true;
        } else {
            user.push(argument);
        }
    }
    let known = compiler.as_deref().unwrap_or(default);
    if user.iter().any(|word| word == "--help") {
        print!("{}", help(tree.interface, known, variable));
        return ExitCode::SUCCESS;
    }
    let words = tree.command(language, known, &user);
    if show {
        println!(
            "{}",
            words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
        );
        return ExitCode::SUCCESS;
    }
    let error = Command::new(&words[0]).args(&words[1..]).exec();
    let what =
        format!("cannot run {}: {error}; {variable} names another compiler", words[0].to_string_lossy());
    fail(tree.interface, &what)
}

impl Tree {
    /// An installed tree, else the source tree that this program was built in.
    fn around(interface: Interface, me: &Path) -> Option<Self> {
        let bin = me.parent()?;
        let installed = bin.parent().map(|prefix| Self {
            interface,
            include: prefix.join("include"),
            fortran: prefix.join("include"),
            lib: prefix.join("lib"),
        });
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(interface.sources);
        let built = std::fs::canonicalize(sources).ok().map(|include| {
            // <root>/bindings/lapi/include
            let bindings = include.ancestors().nth(2).unwrap_or(&include);
            let own = interface == ACP;
            let fortran = if own { include.clone() } else { bindings.join("fortran/include") };
            Self { fortran, lib: bin.to_owned(), include, interface }
        });
        let library = format!("lib{}.so", interface.library);
        installed
            .into_iter()
            .chain(built)
            .find(|tree| tree.include.join(interface.header).is_file() && tree.lib.join(&library).exists())
    }

    fn command(&self, language: Language, compiler: &str, user: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> = compiler.split_whitespace().map(OsString::from).collect();
        match language {
            Language::C => words.push(joined("-I", &self.include)),
            Language::Fortran => {
                words.push(joined("-I", &self.fortran));
                // Programs that include lapif.h pass buffers of all types to the same subroutine;
                // this compiler takes that for a mistake unless told otherwise.
                if words.iter().any(|word| word.to_string_lossy().contains("gfortran")) {
                    words.push("-fallow-argument-mismatch".into());
                }
            }
        }
        words.extend(user.iter().cloned());
        let links = !user.iter().any(|word| NO_LINK.iter().any(|option| word == option));
        // `-v` alone asks for the compiler's version; beside a file it shows what is done.
        let asks = user.iter().all(|word| word == "-v");
        if links && !asks {
            words.push(joined("-L", &self.lib));
            words.push(joined("-Wl,-rpath,", &self.lib));
            words.push(format!("-l{}", self.interface.library).into());
            words.push("-pthread".into());
        }
        words
    }
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(compiler: &str, user: &[&str]) -> String {
        line_of(LAPI, compiler, user)
    }

    fn line_of(interface: Interface, compiler: &str, user: &[&str]) -> String {
        let [include, fortran, lib] = ["/p/include", "/p/fortran", "/p/lib"].map(PathBuf::from);
        let tree = Tree { interface, include, fortran, lib };
        let language = if compiler.contains("fort") { Language::Fortran } else { Language::C };
        let user: Vec<OsString> = user.iter().map(OsString::from).collect();
        let words = tree.command(language, compiler, &user);
        words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn libraries_come_last_and_only_when_linking() {
        assert_eq!(
            line("cc", &["-O2", "a.c", "-o", "a b"]),
            "cc -I/p/include -O2 a.c -o 'a b' -L/p/lib -Wl,-rpath,/p/lib -llapi_r -pthread"
        );
        assert_eq!(line("ccache gcc", &["-c", "a.c"]), "ccache gcc -I/p/include -c a.c");
        assert_eq!(line("cc", &[]), "cc -I/p/include");
        assert_eq!(line("cc", &["-v"]), "cc -I/p/include -v");
        assert_eq!(
            line("cc", &["-v", "a.c"]),
            "cc -I/p/include -v a.c -L/p/lib -Wl,-rpath,/p/lib -llapi_r -pthread"
        );
        assert_eq!(
            line_of(ACP, "cc", &["a.c"]),
            "cc -I/p/include a.c -L/p/lib -Wl,-rpath,/p/lib -lacp -pthread"
        );
        assert_eq!(
            line_of(ACP, "gfortran", &["a.f90"]),
            "gfortran -I/p/fortran -fallow-argument-mismatch a.f90 -L/p/lib -Wl,-rpath,/p/lib -lacp -pthread"
        );
        assert_eq!(
            line("gfortran-12", &["-c", "a.f"]),
            "gfortran-12 -I/p/fortran -fallow-argument-mismatch -c a.f"
        );
        assert_eq!(line("flang-fortran", &["-c", "a.f"]), "flang-fortran -I/p/fortran -c a.f");
    }

    #[test]
    fn the_manual_names_the_options_of_the_help() {
        lapis_testing::manual_by_hand("lapicc", &help(LAPI, "cc", "LAPIS_CC"));
        lapis_testing::manual_by_hand("acpcc", &help(ACP, "cc", "LAPIS_CC"));
    }

    #[test]
    fn quotes_survive_the_shell() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
