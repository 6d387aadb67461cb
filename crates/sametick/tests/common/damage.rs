//! Damages a message as bytes tell. The fuzz targets use it too.

/// Flips bits, copies parts over others, cuts and lengthens: three bytes of `orders` for each deed.
pub(crate) fn damage(message: &mut Vec<u8>, orders: &[u8]) {
    for [deed, low, high] in orders.as_chunks::<3>().0 {
        if message.is_empty() {
            return;
        }
        let at = usize::from(u16::from_le_bytes([*low, *high]));
        let bits = message.len() * 8;
        match deed % 16 {
            0 => message.truncate(at % message.len()),
            1 => message.push(*low),
            2 => {
                let (from, to) = (usize::from(*low) % message.len(), at % message.len());
                let length = (1 + usize::from(deed / 16)).min(message.len() - from.max(to));
                message.copy_within(from..from + length, to);
            }
            _ => message[at % bits / 8] ^= 1 << (at % 8),
        }
    }
}
