//! A segment of a simulated stream, as the bytes of a datagram. Knows nothing of windows or timers.

/// The most bytes of data in one segment.
pub const SEGMENT_BYTES: usize = 1_200;
/// What each segment carries besides its data.
pub const SEGMENT_HEADER_BYTES: usize = CHECK_BYTES + 8 + 8 + 4 + 1;

const CHECK_BYTES: usize = 8;

/// What a segment says besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The place of the first byte of data in the stream.
    pub(super) sequence: u64,
    /// The first place of the other direction that has not arrived.
    pub(super) acknowledged: u64,
    /// How many bytes from there on would be taken.
    pub(super) window: u32,
    /// Whether the direction ends after the data.
    pub(super) is_last: bool,
}

/// Makes `into` the segment of a header and data that comes in two parts.
pub(super) fn write(header: &Header, data: (&[u8], &[u8]), into: &mut Vec<u8>) {
    assert!(data.0.len() + data.1.len() <= SEGMENT_BYTES, "a segment is too large");
    into.clear();
    into.extend_from_slice(&[0; CHECK_BYTES]);
    into.extend_from_slice(&header.sequence.to_le_bytes());
    into.extend_from_slice(&header.acknowledged.to_le_bytes());
    into.extend_from_slice(&header.window.to_le_bytes());
    into.push(u8::from(header.is_last));
    into.extend_from_slice(data.0);
    into.extend_from_slice(data.1);
    let check = check_of(&into[CHECK_BYTES..]);
    into[..CHECK_BYTES].copy_from_slice(&check.to_le_bytes());
}

/// The header and the data of a segment, unless it is damaged.
pub(super) fn read(segment: &[u8]) -> Option<(Header, &[u8])> {
    let (check, rest) = segment.split_first_chunk::<CHECK_BYTES>()?;
    if check_of(rest) != u64::from_le_bytes(*check) {
        return None;
    }
    let (sequence, rest) = rest.split_first_chunk()?;
    let (acknowledged, rest) = rest.split_first_chunk()?;
    let (window, rest) = rest.split_first_chunk()?;
    let ([is_last], data) = rest.split_first_chunk()?;
    let header = Header {
        sequence: u64::from_le_bytes(*sequence),
        acknowledged: u64::from_le_bytes(*acknowledged),
        window: u32::from_le_bytes(*window),
        is_last: *is_last == 1,
    };
    (data.len() <= SEGMENT_BYTES && *is_last <= 1).then_some((header, data))
}

/// FNV-1a, which no single changed byte escapes. It stands for the checksums of IP and Ethernet,
/// and keeps out accidents, not forgers.
fn check_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |check, byte| {
        (check ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_comes_back_whole_or_not_at_all() {
        let header = Header { sequence: 1 << 40, acknowledged: 77, window: 65_536, is_last: true };
        let mut segment = vec![9; 3];
        write(&header, (b"head", b"tail"), &mut segment);
        assert_eq!(segment.len(), SEGMENT_HEADER_BYTES + 8);
        assert_eq!(read(&segment), Some((header, &b"headtail"[..])));
        for bytes in 0..segment.len() {
            assert_eq!(read(&segment[..bytes]), None, "{bytes} bytes");
        }
        for bit in 0..segment.len() * 8 {
            let mut flipped = segment.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped), None, "bit {bit}");
        }
    }
}
