//! Statistics: what a context has sent and received, by path.

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Between machines.
    Network = 0,
    /// Shared memory between tasks of one machine.
    SharedMemory = 1,
    /// To the task itself.
    Local = 2,
}

/// Counts for one path.
#[doc(alias = "lapi_statistics_t")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PathStatistics {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes of user data sent, direct stores included.
    pub data_sent: u64,
    /// Bytes of user data received.
    pub data_received: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets sent again.
    pub retransmissions: u64,
}

/// What became of bulk transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BulkStatistics {
    /// Messages of this task that went by bulk transfer, gets included.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Direct copies by this task that were refused, so that packets carried the message; wanted as
    /// bulk transfer or not.
    pub refused: u64,
}

impl BulkStatistics {
    pub(crate) fn count(&mut self, bytes: u64) {
        self.transfers += 1;
        self.bytes += bytes;
    }
}

/// Counts for the three paths. *LAPI Guide, "Collecting statistics".*
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Statistics {
    paths: [PathStatistics; 3],
    pub(crate) refused: u64,
    pub(crate) bulk: BulkStatistics,
}

impl PathStatistics {
    /// Several paths' counts together.
    pub(crate) fn sum(paths: &[Self]) -> Self {
        let mut sum = Self::default();
        for p in paths {
            sum.packets_sent += p.packets_sent;
            sum.packets_received += p.packets_received;
            sum.data_sent += p.data_sent;
            sum.data_received += p.data_received;
            sum.duplicates += p.duplicates;
            sum.retransmissions += p.retransmissions;
        }
        sum
    }
}

impl Statistics {
    /// Where its parts are, for readers of its bytes.
    pub(crate) const PATHS_AT: usize = std::mem::offset_of!(Self, paths);
    pub(crate) const REFUSED_AT: usize = std::mem::offset_of!(Self, refused);
    pub(crate) const BULK_AT: usize = std::mem::offset_of!(Self, bulk);

    /// One path's counts.
    pub fn path(&self, path: Path) -> &PathStatistics {
        &self.paths[path as usize]
    }

    #[inline(always)]
    pub(crate) fn path_mut(&mut self, path: Path) -> &mut PathStatistics {
        &mut self.paths[path as usize]
    }

    /// Datagrams that were dropped because they are of no peer of this job, of an earlier
    /// incarnation, spoilt or forged.
    pub fn refused_datagrams(&self) -> u64 {
        self.refused
    }

    /// Bulk transfers.
    pub fn bulk(&self) -> &BulkStatistics {
        &self.bulk
    }

    /// All paths together.
    pub fn total(&self) -> PathStatistics {
        PathStatistics::sum(&self.paths)
    }
}
