//! The one line that makes a plugin of a transport.

/// Makes a transport loadable: defines the entry function `lapis_transport_<name>_v1` and, for
/// static linking, a function `table()` in the calling module.
///
/// ```ignore
/// lapis_core::export_transport!(MyTransport, "mine", "0.1.0");
/// ```
#[macro_export]
macro_rules! export_transport {
    ($transport:ty, $name:literal, $version:expr) => {
        /// The operation table, for programs that link this transport statically.
        pub fn table() -> &'static $crate::transport::abi::TransportOps {
            static TABLE: $crate::transport::abi::TransportOps = {
                const fn cstr(bytes: &'static [u8]) -> &'static ::std::ffi::CStr {
                    match ::std::ffi::CStr::from_bytes_with_nul(bytes) {
                        Ok(s) => s,
                        Err(_) => panic!("a transport's name and version have no NUL inside"),
                    }
                }
                const DECLARATION: $crate::transport::Declaration =
                    <$transport as $crate::transport::Transport>::DECLARATION;
                static VARIABLES: [$crate::transport::abi::RawVariable; DECLARATION.variables.len()] =
                    $crate::transport::raw_variables(DECLARATION.variables);
                static RAW: $crate::transport::abi::RawDeclaration =
                    $crate::transport::raw_declaration(&DECLARATION, &VARIABLES);
                $crate::transport::Exported::<$transport>::table(
                    cstr(concat!($name, "\0").as_bytes()),
                    cstr(concat!($version, "\0").as_bytes()),
                    &RAW,
                )
            };
            &TABLE
        }

        #[unsafe(export_name = concat!("lapis_transport_", $name, "_v1"))]
        unsafe extern "C" fn lapis_transport_entry(
            host: *const $crate::transport::abi::HostTable,
            out: *mut *const $crate::transport::abi::TransportOps,
        ) -> i32 {
            let name: &str = $name;
            // SAFETY: the loader passes its table, which is static, and a valid place for the
            // answer.
            unsafe {
                $crate::transport::forward(host, name);
                *out = table();
            }
            $crate::transport::abi::status::OK
        }
    };
}
