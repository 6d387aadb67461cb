//! What fuzzing found in the channel as a whole, kept.

use super::*;

/// Calls until there is nothing to send, as every owner does; says how many packets that were.
fn transmit_all(channel: &mut Channel, now: Time) -> usize {
    let mut body = BitWriter::fixed(BODY_BYTES_MAX);
    (0..1000)
        .take_while(|_| {
            body.clear();
            channel.transmit(now, &mut body).is_some()
        })
        .count()
}

#[test]
fn who_has_nothing_to_do_now_does_not_ask_to_be_woken_now() {
    let mut now = Time::ZERO;
    let mut channel = Channel::new(Settings::default(), now, 1);
    channel.send_reliable(&[7; RELIABLE_BYTES_MAX]).unwrap();
    channel.send_reliable(&[8; RELIABLE_BYTES_MAX]).unwrap();
    let mut sent = 0;
    // Each wake at which nothing can be sent yet is a turn of a loop that never sleeps.
    for _ in 0..500 {
        channel.advance(now, &mut |_| {});
        sent += transmit_all(&mut channel, now);
        let wake = channel.next_wake();
        assert!(wake > now, "woken again at {wake} after {sent} packets");
        now = wake;
    }
    assert!(sent >= 128, "{sent} packets");
}

#[test]
fn a_backlog_of_tiny_messages_has_a_limit_in_memory_too() {
    let mut channel = Channel::new(Settings::default(), Time::ZERO, 1);
    let counted = allocation_counter::measure(|| while channel.send_reliable(&[7]).is_ok() {});
    assert!(counted.bytes_current <= 1 << 20, "{counted:?}");
    assert!(channel.backlog_bytes() >= 1000);
}
