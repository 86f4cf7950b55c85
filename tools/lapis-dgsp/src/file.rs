//! Reading and writing programs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use lapis_dgsp::{Density, Descriptor, text};
use serde::{Deserialize, Serialize};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("can't read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}, {source}", path.display())]
    Syntax { path: PathBuf, source: text::SyntaxError },
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("density {0} is none of 0 (sparse), 1 (contig), 2 (unit)")]
    Density(i32),
    #[error(transparent)]
    Dgsp(#[from] lapis_dgsp::Error),
    #[error("the program moves {0} bytes; at most {1} can be drawn")]
    TooLarge(u64, u64),
    #[error("the program's bytes lie within {0} bytes of memory; at most {1} can be drawn")]
    TooFarApart(u64, u64),
    #[error("no shape is named {0}; there are: {1}")]
    NoShape(String, String),
    #[error("peer `{command}`: {what}")]
    Peer { command: String, what: String },
    #[error("{shape} {direction}: the {engine} moved other bytes than the hand-written loop")]
    Wrong { shape: String, direction: &'static str, engine: &'static str },
}

#[derive(Serialize, Deserialize)]
struct Json {
    code: Vec<i32>,
    depth: i32,
    density: i32,
    size: i64,
    extent: i64,
    lext: i64,
    rext: i64,
    atom_size: i32,
}

/// A program in either form; JSON starts with a brace.
pub(crate) fn load(path: &Path) -> Result<Descriptor, Failure> {
    let failed = |source| Failure::Read { path: path.to_owned(), source };
    let mut content = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut content).map_err(failed)?;
    } else {
        content = std::fs::read_to_string(path).map_err(failed)?;
    }
    if !content.trim_start().starts_with('{') {
        return text::assemble(&content).map_err(|source| Failure::Syntax { path: path.to_owned(), source });
    }
    let Json { code, depth, density, size, extent, lext, rext, atom_size } = serde_json::from_str(&content)?;
    let density = Density::from_c(density).ok_or(Failure::Density(density))?;
    Ok(Descriptor { code: code.into(), depth, density, size, extent, lext, rext, atom_size })
}

pub(crate) fn to_json(d: &Descriptor) -> Result<String, Failure> {
    let (code, density) = (d.code.to_vec(), d.density as i32);
    let Descriptor { depth, size, extent, lext, rext, atom_size, .. } = *d;
    Ok(serde_json::to_string(&Json { code, depth, density, size, extent, lext, rext, atom_size })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_program_load_alike() {
        let dir = std::env::temp_dir().join(format!("lapis-dgsp-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        let (text, json) = (dir.join("p.dgsp"), dir.join("p.json"));
        std::fs::write(
            &text,
            ".size 4\n.extent 8\n.rext 4\nmain:\n    copy 4@0 ; a word\n    iterate main\n",
        )
        .expect("space");
        let desc = load(&text).expect("a program");
        std::fs::write(&json, to_json(&desc).expect("plain numbers")).expect("space");
        assert_eq!(load(&json).expect("the same program"), desc);
        std::fs::write(&text, "main:\n    leap 4\n").expect("space");
        let error = load(&text).expect_err("no such instruction").to_string();
        assert!(error.ends_with("p.dgsp, line 2: can't read `leap 4`"), "{error}");
        std::fs::remove_dir_all(&dir).expect("our directory");
    }
}
