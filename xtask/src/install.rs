//! `cargo xtask install --prefix DIR`: a tree that programs build against and run from, from any directory.

use crate::workspace::{self, Package};
use crate::{setup, sh};
use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where programs will find the tree
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    /// Put before the prefix while copying (for packagers)
    #[arg(long)]
    destdir: Option<PathBuf>,
}

/// Programs of the workspace that serve developers of Lapis, not its users.
const NOT_INSTALLED: &[&str] = &["lapis-bench", "lapis-job-task", "lapirun-test-task", "xtask"];

pub(crate) fn run(args: &Args) -> Result<()> {
    setup::ensure("install")?;
    let prefix = std::path::absolute(&args.prefix)?;
    let tree = match &args.destdir {
        Some(dir) => std::path::absolute(dir)?.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix.clone(),
    };
    let packages = workspace::packages()?;
    sh::run(&mut sh::cargo(["build", "--release", "--workspace", "--quiet"]))?;
    let release = workspace::target_dir().join("release");

    programs(&packages, &release, &tree)?;
    plugins(&packages, &release, &tree)?;
    let libraries = libraries(&packages, &release, &tree)?;
    headers_and_manuals(&packages, &tree)?;
    for library in &libraries {
        descriptions(library, &prefix, &tree)?;
    }
    eprintln!("install: done: {}", tree.display());
    Ok(())
}

fn programs(packages: &[Package], release: &Path, tree: &Path) -> Result<()> {
    for package in
        packages.iter().filter(|p| p.place().starts_with("tools/") || p.place().starts_with("bindings/"))
    {
        for program in package.targets_of("bin").filter(|b| !NOT_INSTALLED.contains(b)) {
            copy(&release.join(program), &tree.join("bin").join(program), 0o755)?;
            if program == "lapirun" {
                // Scripts of LAPI programs call the launcher by this name; it looks at its own.
                link("lapirun", &tree.join("bin/poe"))?;
            }
        }
    }
    Ok(())
}

fn plugins(packages: &[Package], release: &Path, tree: &Path) -> Result<()> {
    let mut count = 0;
    for package in packages.iter().filter(|p| p.place().starts_with("transports/")) {
        for plugin in package.targets_of("cdylib") {
            let file = shared_object(plugin);
            copy(&release.join(&file), &tree.join("lib/lapis").join(&file), 0o755)?;
            count += 1;
        }
    }
    if count == 0 {
        eprintln!("install: missing: no transport builds a plugin (cdylib) yet");
    }
    Ok(())
}

/// Installs each binding's library under its soname, with the link that the linker looks for. Returns their names.
fn libraries(packages: &[Package], release: &Path, tree: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let lib = tree.join("lib");
    for package in packages.iter().filter(|p| p.place().starts_with("bindings/")) {
        for library in package.targets_of("cdylib") {
            let plain = shared_object(library);
            let built = release.join(&plain);
            let soname = soname(&built)?;
            copy(&built, &lib.join(&soname), 0o755)?;
            link(&soname, &lib.join(&plain))?;
            if library == "lapi_r" {
                // The guide's programs may link either name; there is one library, and it is thread-safe.
                link(&soname, &lib.join("liblapi.so"))?;
            }
            names.push(library.to_owned());
        }
    }
    if names.is_empty() {
        eprintln!("install: missing: no binding builds a C library (cdylib) yet");
    }
    Ok(names)
}

fn headers_and_manuals(packages: &[Package], tree: &Path) -> Result<()> {
    let bindings = packages.iter().filter(|p| p.place().starts_with("bindings/"));
    let mut sources: Vec<(PathBuf, PathBuf)> =
        bindings.map(|p| (p.dir.join("include"), tree.join("include"))).collect();
    for section in 1..=8 {
        let source = workspace::root().join(format!("docs/man/man{section}"));
        sources.push((source, tree.join(format!("share/man/man{section}"))));
    }
    for (source, destination) in sources {
        for entry in std::fs::read_dir(source).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_file()) {
                copy(&entry.path(), &destination.join(entry.file_name()), 0o644)?;
            }
        }
    }
    Ok(())
}

fn descriptions(library: &str, prefix: &Path, tree: &Path) -> Result<()> {
    // lapi_r is called lapi by those who ask for it; the others are called what they are.
    let name = library.trim_end_matches("_r");
    let (prefix, version) = (prefix.display(), env!("CARGO_PKG_VERSION"));
    let pc = format!(
        "prefix={prefix}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: {name}\nDescription: Lapis, interface {name}\nVersion: {version}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -Wl,-rpath,${{libdir}} -l{library}\n"
    );
    write(&tree.join(format!("lib/pkgconfig/{name}.pc")), &pc)?;
    let cmake = format!(
        "# find_package({name}); target_link_libraries(program {name}::{name})\n\
         get_filename_component(_{name}_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n\
         if(NOT TARGET {name}::{name})\n\
         \x20 add_library({name}::{name} SHARED IMPORTED)\n\
         \x20 set_target_properties({name}::{name} PROPERTIES\n\
         \x20   IMPORTED_LOCATION \"${{_{name}_prefix}}/lib/{file}\"\n\
         \x20   INTERFACE_INCLUDE_DIRECTORIES \"${{_{name}_prefix}}/include\")\n\
         endif()\n",
        file = shared_object(library),
    );
    let folder = tree.join(format!("lib/cmake/{name}"));
    write(&folder.join(format!("{name}-config.cmake")), &cmake)?;
    let check = format!(
        "set(PACKAGE_VERSION \"{version}\")\n\
         if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
         else()\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE TRUE)\n\
         endif()\n"
    );
    write(&folder.join(format!("{name}-config-version.cmake")), &check)
}

/// The soname in a library's dynamic section. A library without one can't be replaced beside an old one.
fn soname(library: &Path) -> Result<String> {
    let text = sh::output(Command::new("readelf").arg("-d").arg(library))
        .with_context(|| format!("`readelf -d {}` failed", library.display()))?;
    let line = text.lines().find(|l| l.contains("(SONAME)"));
    match line.and_then(|l| Some(l.split_once('[')?.1.split_once(']')?.0)) {
        Some(name) => Ok(name.to_owned()),
        None => {
            bail!("{} has no soname: its build script must pass -Wl,-soname to the linker", library.display())
        }
    }
}

fn shared_object(library: &str) -> String {
    format!("lib{}.so", library.replace('-', "_"))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    make_parent(to)?;
    // Replacing by rename: a program that runs from the old file keeps it whole.
    let fresh = to.with_extension("installing");
    std::fs::copy(from, &fresh)
        .with_context(|| format!("cannot copy {} to {}", from.display(), fresh.display()))?;
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(mode))?;
    std::fs::rename(&fresh, to).with_context(|| format!("cannot put {} in place", to.display()))?;
    eprintln!("install: {}", to.display());
    Ok(())
}

fn write(to: &Path, text: &str) -> Result<()> {
    make_parent(to)?;
    std::fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))?;
    eprintln!("install: {}", to.display());
    Ok(())
}

fn link(target: &str, at: &Path) -> Result<()> {
    make_parent(at)?;
    let _ = std::fs::remove_file(at);
    std::os::unix::fs::symlink(target, at)
        .with_context(|| format!("cannot link {} to {target}", at.display()))?;
    eprintln!("install: {} -> {target}", at.display());
    Ok(())
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))
}
