//! Bodies of fuzz targets: any bytes may be passed, and nothing may panic.

use super::wire::{ACK_LEN, Frame, Frames, HEADER_LEN, Header, MAX_NUMBER, SIGNED_LEN, WireError};
use super::{
    Authenticator, Body, Channel, Engine, EngineConfig, JobAuth, NoAuth, NoMemory, PathInfo, Transmit,
    Verdict,
};

/// The parser: total, and what it accepts is what would be written.
///
/// # Panics
/// If a header that was accepted is written in another way, or frames don't add up.
pub fn parse(data: &[u8]) {
    let Ok((header, frames)) = Header::parse(data) else { return };
    assert!(header.number <= MAX_NUMBER);
    let mut again = [0; HEADER_LEN];
    again[SIGNED_LEN..].copy_from_slice(&data[SIGNED_LEN..HEADER_LEN]);
    header.write(&mut again, frames.len() as u16);
    assert_eq!(again[..], data[..HEADER_LEN], "a header with two spellings");
    let mut len = 0;
    for frame in Frames::new(frames) {
        len += match frame {
            Ok(Frame::Data { payload, .. }) => 8 + payload.len(),
            Ok(Frame::Part { payload, .. }) => 16 + payload.len(),
            Ok(Frame::Ack(ack)) => ACK_LEN + 8 * ack.words().len(),
            Ok(Frame::Probe) => 8,
            Err(WireError::Kind { at, .. } | WireError::Truncated(at)) => {
                assert_eq!(at, len);
                return;
            }
            Err(WireError::Field(at)) => {
                assert!(at >= len && at < frames.len());
                return;
            }
            Err(error) => panic!("not an error of a frame: {error}"),
        };
    }
    assert_eq!(len, frames.len());
}

/// A stranger's bytes: whatever they are, an engine with a secret takes nothing and keeps nothing.
///
/// # Panics
/// If it does.
pub fn stranger(data: &[u8]) {
    let mut engine = engine(JobAuth::new(&[1; 32]));
    let before = engine.memory();
    engine.on_datagram(0, data, |_| panic!("a stranger got through"));
    // Even with the right addresses.
    let mut patched = data.to_vec();
    patch(&mut patched);
    engine.on_datagram(1, &patched, |_| panic!("a stranger got through"));
    assert!(!engine.poll_transmit(2, &mut NoMemory, &mut Transmit::default()), "a stranger got an answer");
    assert_eq!(engine.memory(), before);
}

/// A hostile member of the job: the bytes are a script of datagrams that pass authentication, mixed
/// with submissions and time. The engine may lose that peer, but neither its mind nor its memory.
/// Returns how many units it took and how many of its own were acknowledged, which shows how deep a
/// script gets.
///
/// # Panics
/// If the engine holds more than its bounds allow.
pub fn member(data: &[u8]) -> (u64, u64) {
    let mut engine = engine(NoAuth);
    let mut out = Transmit::default();
    let (mut now, mut rest) = (0, data);
    while let [control, after @ ..] = rest {
        rest = after;
        match control % 8 {
            0 => now += 50_000,
            1 => now += 10_000_000,
            2 => {
                let channel = if control & 8 == 0 { Channel::Request } else { Channel::Reply };
                let body = [*control; 700];
                let size = engine.max_payload(1).map_or(0, |max| max.min(usize::from(*control) * 2));
                let full = engine.submit(now, 1, channel, &[], Body::Copy(&body[..size]), 5);
                assert!(full.is_ok() || engine.outstanding(1).is_some_and(|held| held > 0));
            }
            3 => {
                let max_datagram = 548 + 4 * usize::from(*control);
                engine.set_max_datagram(1, control >> 3 & 1, max_datagram).expect("in range");
            }
            _ => {
                // As long as its header says, so that recorded datagrams can stand in a script as
                // they are.
                let length = rest.get(38..40).map_or(0, |field| u16::from_le_bytes([field[0], field[1]]));
                let len = rest.len().min(HEADER_LEN + usize::from(length));
                let (datagram, after) = rest.split_at(len);
                rest = after;
                let mut datagram = datagram.to_vec();
                patch(&mut datagram);
                let verdict = if control & 8 == 0 { Verdict::Accept } else { Verdict::Drop };
                engine.on_datagram(now, &datagram, |_| verdict);
            }
        }
        engine.on_timeout(now);
        while engine.poll_transmit(now, &mut NoMemory, &mut out) {}
        while engine.poll_event().is_some() {}
        assert!(engine.memory() < 4 << 20, "{} bytes", engine.memory());
    }
    engine.stats(1).map_or((0, 0), |stats| (stats.units_delivered, stats.units_acked))
}

fn engine<A: Authenticator>(auth: A) -> Engine<A> {
    let config = EngineConfig { channel_units: 64, ..EngineConfig::default() };
    let paths = [0, 1].map(|path_id| PathInfo::new(path_id, 1472));
    let mut engine = Engine::new(config, 0, 3, auth).expect("a valid configuration");
    engine.add_peer(0, 1, 1, Some(1), &paths).expect("a new peer");
    engine
}

/// Makes the header name the right job and tasks, so that what is behind it gets read.
fn patch(datagram: &mut [u8]) {
    let Some(len) = datagram.len().checked_sub(HEADER_LEN) else { return };
    datagram[0] = 1;
    datagram[1] &= 1;
    datagram[2] &= 1;
    datagram[3] = 0;
    datagram[4..8].copy_from_slice(&3u32.to_le_bytes());
    datagram[8..12].copy_from_slice(&1u32.to_le_bytes());
    datagram[12..16].copy_from_slice(&0u32.to_le_bytes());
    // The epochs stay what they are if they are small: 0 is a greeting, 2 a new incarnation.
    for at in [16, 20] {
        if datagram[at] > 2 {
            datagram[at] = 1;
        }
        datagram[at + 1..at + 4].fill(0);
    }
    datagram[38..40].copy_from_slice(&(len as u16).to_le_bytes());
    datagram[SIGNED_LEN..HEADER_LEN].fill(0);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::sim::{Fault, Random, Traffic, World, WorldSpec};
    use super::super::wire;
    use super::*;

    fn corpus_dir() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/reliable")
    }

    /// Genuine datagrams of all kinds, and scripts made of them. `LAPIS_UPDATE_CORPUS=1` writes
    /// them again.
    fn genuine() -> Vec<Vec<u8>> {
        let fault = Fault { loss: 200_000, ..Fault::default() };
        let spec = WorldSpec { paths: 2, fault, epochs_known: false, ..WorldSpec::default() };
        let mut world = World::new(1, &spec, &NoAuth, true);
        world.overhear = 200;
        for (size, count) in [(20, 40), (700, 20), (1400, 5)] {
            world.send(1, Traffic { to: 0, channel: Channel::Request, size, count, external: false });
            world.send(0, Traffic { to: 1, channel: Channel::Reply, size, count, external: false });
        }
        world.run_until(100_000);
        world.engine(1).set_max_datagram(0, 0, 600).expect("in range");
        world.engine(1).set_max_datagram(0, 1, 600).expect("in range");
        world.pump(1);
        world.finish(1_000_000_000);
        let datagrams: Vec<_> = world.overheard.into_iter().map(|(_, datagram)| datagram).collect();
        let mut files: Vec<_> = datagrams.iter().step_by(3).cloned().collect();
        for chunk in datagrams.chunks(12) {
            let mut script = Vec::new();
            for datagram in chunk {
                // A unit of ours, a little time, and what the peer says.
                script.extend([2 + 8 * (script.len() as u8 % 16), 0, 4]);
                script.extend_from_slice(datagram);
            }
            files.push(script);
        }
        files.extend((0..4).map(acknowledged));
        files
    }

    /// A script in which units of ours are acknowledged, with gaps, over both paths.
    fn acknowledged(variant: u64) -> Vec<u8> {
        let mut script = Vec::new();
        for number in 0..12 {
            // Two units of up to 500 bytes, which take two datagrams or one.
            script.extend([0xf2 - 8 * variant as u8, 0xfa, 0]);
            let mut datagram = vec![0; HEADER_LEN];
            let settled = number / (1 + variant);
            datagram.extend(wire::ack_header((number % 2) as u8, 1, 1000, settled));
            datagram.extend((0b1011u64 >> variant).to_le_bytes());
            let length = (datagram.len() - HEADER_LEN) as u16;
            let header = Header {
                flags: 0,
                path: (number % 2) as u8,
                job: 3,
                source: 1,
                destination: 0,
                source_epoch: 1,
                destination_epoch: 1,
                number,
                credit: 1 << 16,
                span: 0,
            };
            header.write(datagram.first_chunk_mut().expect("a header"), length);
            // No text begins like this.
            script.extend([0x80 + 4]);
            script.extend(datagram);
        }
        script
    }

    fn all(data: &[u8]) {
        parse(data);
        stranger(data);
        member(data);
    }

    #[test]
    fn corpus_and_mutations() {
        if std::env::var_os("LAPIS_UPDATE_CORPUS").is_some() {
            std::fs::create_dir_all(corpus_dir()).expect("the corpus directory");
            for (at, file) in genuine().iter().enumerate() {
                std::fs::write(corpus_dir().join(format!("{at:03}")), file).expect("a corpus file");
            }
        }
        let mut corpus: Vec<_> = std::fs::read_dir(corpus_dir())
            .expect("the corpus is committed")
            .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a corpus file"))
            .collect();
        // The order of a directory is not part of the seed.
        corpus.sort();
        assert!(corpus.len() > 20);
        let (mut delivered, mut acked) = (0, 0);
        for data in &corpus {
            all(data);
            let reached = member(data);
            delivered += reached.0;
            acked += reached.1;
        }
        assert!(
            delivered > 50 && acked > 10,
            "the corpus is shallow: {delivered} delivered, {acked} acknowledged"
        );
        let runs = std::env::var("LAPIS_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(3000);
        for seed in 0..runs {
            let mut random = Random::new(seed);
            let mut data = corpus[random.below(corpus.len() as u64) as usize].clone();
            for _ in 0..random.range(1..12) {
                mutate(&mut data, &corpus, &mut random);
            }
            if let Err(panic) = std::panic::catch_unwind(|| all(&data)) {
                eprintln!("seed {seed}: {data:02x?}");
                std::panic::resume_unwind(panic);
            }
        }
    }

    fn mutate(data: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
        let at = |random: &mut Random, data: &[u8]| random.below(data.len() as u64 + 1) as usize;
        match random.below(6) {
            0 => {
                let at = at(random, data);
                data.truncate(at);
            }
            1 => {
                let at = at(random, data);
                data.insert(at, random.word() as u8);
            }
            2 => {
                let other = &corpus[random.below(corpus.len() as u64) as usize];
                let (to, from) = (at(random, data), at(random, other));
                data.splice(to.., other[from..].iter().copied());
            }
            _ if data.is_empty() => data.push(random.word() as u8),
            3 => {
                let at = random.below(data.len() as u64) as usize;
                data[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize];
            }
            4 => {
                let at = random.below(data.len() as u64) as usize;
                let end = (at + 8).min(data.len());
                data[at..end].fill(if random.below(2) == 0 { 0xff } else { 0 });
            }
            _ => {
                let bit = random.below(data.len() as u64 * 8) as usize;
                data[bit / 8] ^= 1 << (bit % 8);
            }
        }
        data.truncate(1 << 16);
    }
}
