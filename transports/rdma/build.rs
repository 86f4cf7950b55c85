//! Reads libfabric's headers. Where they, or libclang which reads them, are missing, the transport
//! is built all the same and says at run time what was missing.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=libfabric.h");
    println!("cargo:rerun-if-changed=/usr/include/rdma/fabric.h");
    println!("cargo:rustc-check-cfg=cfg(libfabric)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // libclang is loaded at run time; the loader panics where there is none.
    let bindings = std::panic::catch_unwind(|| {
        bindgen::Builder::default()
            .header("libfabric.h")
            .allowlist_type("fi_.*|fid_.*")
            .allowlist_var("FI_.*")
            .opaque_type("fi_collective_.*|fi_.*_collective|fi_hmem_.*|fi_cntr.*|fi_poll.*")
            .prepend_enum_name(false)
            .layout_tests(false)
            .derive_debug(false)
            .generate()
    });
    match bindings {
        Ok(Ok(bindings)) => {
            bindings.write_to_file(out.join("libfabric.rs")).expect("OUT_DIR is writable");
            println!("cargo:rustc-cfg=libfabric");
        }
        _ => {
            // A file that never is there: the next build looks again.
            println!("cargo:rerun-if-changed=libfabric-is-missing");
            println!(
                "cargo:warning=lapis-rdma is built without libfabric: its headers or libclang are \
             missing (apt-get install libfabric-dev libclang-dev)"
            );
        }
    }
}
