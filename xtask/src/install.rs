//! `cargo xtask install --prefix DIR`: a tree that programs build against and run from, from any
//! directory.

use crate::packages::{self, Package};
use crate::{setup, sh, workspace};
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
    /// Install the unoptimised build, which tests have at hand
    #[arg(long)]
    debug: bool,
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
    let packages = packages::all()?;
    let build = Build { packages: &packages, release: !args.debug };
    build.all()?;

    programs(&build, &tree)?;
    plugins(&build, &tree)?;
    samples(&tree)?;
    services(&tree, &prefix)?;
    let libraries = libraries(&build, &tree)?;
    headers_and_manuals(&packages, &tree)?;
    fortran_modules(&tree);
    for library in &libraries {
        descriptions(library, &tree)?;
    }
    eprintln!("install: done: {}", tree.display());
    let bin = prefix.join("bin");
    eprintln!(
        "install: next: export PATH={}:$PATH; lapicc hello.c -o hello && lapirun -n 4 ./hello",
        bin.display()
    );
    Ok(())
}

/// What is built, and where it then lies.
struct Build<'a> {
    packages: &'a [Package],
    release: bool,
}

impl Build<'_> {
    /// Builds what is installed, and nothing else.
    fn all(&self) -> Result<()> {
        let mut command = sh::cargo(["build"]);
        self.profile(&mut command);
        if !self.release {
            // As tests have built it: another choice of packages has other features, and so builds
            // everything again.
            return sh::run(command.arg("--workspace"));
        }
        for package in self.packages.iter().filter(|p| is_installed(p)) {
            command.args(["-p", &package.name]);
        }
        sh::run(&mut command)
    }

    fn profile(&self, command: &mut Command) {
        // Tests have built most of it already and want to read their own output.
        command.arg(if self.release { "--release" } else { "--quiet" });
    }

    fn dir(&self) -> PathBuf {
        workspace::target_dir().join(if self.release { "release" } else { "debug" })
    }
}

/// Whether a package gives the tree a program, a plugin or a library.
fn is_installed(package: &Package) -> bool {
    let place = package.place();
    let under = |folder: &str| place.starts_with(folder);
    let program = package.targets_of("bin").any(|b| !NOT_INSTALLED.contains(&b));
    let library = package.targets_of("cdylib").next().is_some();
    program && (under("tools/") || under("bindings/"))
        || library && (under("transports/") || under("bindings/"))
}

fn programs(build: &Build<'_>, tree: &Path) -> Result<()> {
    for package in build.packages.iter().filter(|p| is_installed(p)) {
        for program in package.targets_of("bin").filter(|b| !NOT_INSTALLED.contains(b)) {
            copy(&build.dir().join(program), &tree.join("bin").join(program), 0o755)?;
        }
    }
    // Names that ACP's specification has, and Cargo can't give a program.
    link("acpcc", &tree.join("bin/acpgcc"))?;
    link("acpcxx", &tree.join("bin/acpc++"))
}

/// Descriptions of services for systemd, with the prefix in place of `@PREFIX@`.
fn services(tree: &Path, prefix: &Path) -> Result<()> {
    let name = "lapis-nsd.service";
    let source = workspace::root().join("tools/lapis-nsd").join(name);
    let text = std::fs::read_to_string(&source).with_context(|| format!("reading {}", source.display()))?;
    let folder = tree.join("lib/systemd/system");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let text = text.replace("@PREFIX@", &prefix.display().to_string());
    let file = folder.join(name);
    std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))
}

fn plugins(build: &Build<'_>, tree: &Path) -> Result<()> {
    let mut count = 0;
    for package in build.packages.iter().filter(|p| p.place().starts_with("transports/")) {
        for plugin in package.targets_of("cdylib") {
            let file = shared_object(plugin);
            copy(&build.dir().join(&file), &tree.join("lib/lapis").join(&file), 0o755)?;
            count += 1;
        }
    }
    if count == 0 {
        eprintln!("install: missing: no transport builds a plugin (cdylib) yet");
    }
    Ok(())
}

/// Installs each binding's library under its soname, with the link that the linker looks for.
/// Returns their names.
fn libraries(build: &Build<'_>, tree: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let lib = tree.join("lib");
    for package in build.packages.iter().filter(|p| p.place().starts_with("bindings/")) {
        for library in package.targets_of("cdylib") {
            let plain = shared_object(library);
            let soname = soname(&build.dir().join(&plain))?;
            let built = versioned(build, package, library, &soname)?;
            copy(&built, &lib.join(&soname), 0o755)?;
            link(&soname, &lib.join(&plain))?;
            if library == "lapi_r" {
                // The guide's programs may link either name; there is one library, and it is
                // thread-safe.
                link(&soname, &lib.join("liblapi.so"))?;
            }
            if library == "acp" {
                // Makefiles written for ACP link its layers one by one; they are one library here.
                for layer in ["acpbl", "acpml", "acpcl", "acpdl"] {
                    link(&soname, &lib.join(shared_object(layer)))?;
                }
            }
            names.push(library.to_owned());
        }
    }
    if names.is_empty() {
        eprintln!("install: missing: no binding builds a C library (cdylib) yet");
    }
    Ok(names)
}

/// Links a library with its version script, so that programs record which version of each symbol
/// they were built against.
///
/// rustc gives the linker a version script of its own for a cdylib, and linkers refuse a second one
/// beside it: the same objects are linked once more, from an archive.
fn versioned(build: &Build<'_>, package: &Package, library: &str, soname: &str) -> Result<PathBuf> {
    let script = package.dir.join(format!("lib{}.map", library.trim_end_matches("_r")));
    if !script.is_file() {
        return Ok(build.dir().join(shared_object(library)));
    }
    let mut archive = sh::cargo(["rustc", "-p", &package.name, "--lib", "--crate-type", "staticlib"]);
    build.profile(&mut archive);
    sh::run(&mut archive)?;
    let linked = build.dir().join(format!("{soname}.versioned"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-o"]).arg(&linked).arg("-Wl,--whole-archive");
    gcc.arg(build.dir().join(format!("lib{library}.a"))).arg("-Wl,--no-whole-archive");
    gcc.arg(format!("-Wl,-soname,{soname}")).arg(format!("-Wl,--version-script={}", script.display()));
    gcc.args([
        "-Wl,--gc-sections",
        "-Wl,-O1",
        "-Wl,-z,now",
        "-Wl,-z,defs",
        "-lgcc_s",
        "-lc",
        "-lm",
        "-ldl",
        "-pthread",
    ]);
    sh::run(&mut gcc)?;
    Ok(linked)
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

/// The examples in C and Fortran, to be compiled with lapicc and lapifc, and those of QNIX and ACP.
fn samples(tree: &Path) -> Result<()> {
    for language in ["c", "fortran", "qnix", "acp"] {
        let source = workspace::root().join("examples").join(language);
        copy_all(&source, &tree.join("share/lapis/examples").join(language))?;
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let entries = std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => copy_all(&path, &target)?,
            false => {
                copy(&path, &target, if path.extension().is_some_and(|e| e == "sh") { 0o755 } else { 0o644 })?
            }
        }
    }
    Ok(())
}

/// Compiles `lapi.f90`, `lapis.f90`, which uses it, and `acp.f90`. Compilers, and versions of one,
/// can't read each other's modules: whoever uses another one than `gfortran` compiles the sources,
/// which are installed as well.
fn fortran_modules(tree: &Path) {
    let include = tree.join("include");
    for name in ["lapi", "lapis", "acp"] {
        let mut fc = Command::new("gfortran");
        fc.arg("-fsyntax-only").arg("-J").arg(&include).arg(include.join(format!("{name}.f90")));
        match fc.status() {
            Ok(status) if status.success() => {
                eprintln!("install: {}", include.join(format!("{name}.mod")).display())
            }
            Ok(status) => eprintln!("install: missing: {name}.mod: gfortran ended with {status}"),
            Err(e) => eprintln!("install: missing: {name}.mod: gfortran does not start: {e}"),
        }
    }
}

fn descriptions(library: &str, tree: &Path) -> Result<()> {
    // lapi_r is called lapi by those who ask for it; the others are called what they are.
    let name = library.trim_end_matches("_r");
    let version = env!("CARGO_PKG_VERSION");
    // pkg-config --variable=fflags: what Fortran compilers need is no business of C ones.
    let fortran = if name == "lapi" { "fflags=-I${includedir} -fallow-argument-mismatch\n" } else { "" };
    // Both descriptions find the tree from where they lie: it may be moved as a whole.
    let pc = format!(
        "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n{fortran}\n\
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
         \x20   INTERFACE_INCLUDE_DIRECTORIES \"${{_{name}_prefix}}/include\"{options})\n\
         endif()\n",
        // Programs that include lapif.h pass buffers of all types to the same subroutine.
        options = if name == "lapi" {
            "\n    INTERFACE_COMPILE_OPTIONS \"$<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-fallow-argument-mismatch>\""
        } else {
            ""
        },
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

/// The soname in a library's dynamic section. A library without one can't be replaced beside an old
/// one.
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
