//! How dense a layout is.

/// How dense a layout is (`lapi_dgsp_density_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Density {
    /// There are gaps inside.
    #[default]
    Sparse = 0,
    /// No gaps inside, but between repetitions.
    Contig = 1,
    /// No gaps at all, however often it is repeated.
    Unit = 2,
}

impl Density {
    /// The density of a C value; `None` if it is none of the three.
    pub fn from_c(value: i32) -> Option<Self> {
        match value {
            0 => Some(Self::Sparse),
            1 => Some(Self::Contig),
            2 => Some(Self::Unit),
            _ => None,
        }
    }
}
