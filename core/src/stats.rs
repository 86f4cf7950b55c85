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

/// Counts for the three paths. *LAPI Guide, "Collecting statistics".*
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    paths: [PathStatistics; 3],
    pub(crate) refused: u64,
}

impl Statistics {
    /// One path's counts.
    pub fn path(&self, path: Path) -> &PathStatistics {
        &self.paths[path as usize]
    }

    #[inline(always)]
    pub(crate) fn path_mut(&mut self, path: Path) -> &mut PathStatistics {
        &mut self.paths[path as usize]
    }

    /// Datagrams that were dropped because they are of no peer of this job, of a former life, spoilt or forged.
    pub fn refused_datagrams(&self) -> u64 {
        self.refused
    }

    /// All paths together.
    pub fn total(&self) -> PathStatistics {
        let mut sum = PathStatistics::default();
        for p in &self.paths {
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
