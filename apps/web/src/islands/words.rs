//! What a player is told when something is refused or over: what is wrong, and what to do.

use sametick::channel::CloseReason;
use sametick::eventlock::Denial as Refusal;
use sametick::secure::Denial as Door;
use sametick_islands::Denial;

/// Why a request is not granted.
pub(super) fn of(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::FLOOD => "That is too much at once: wait a moment and ask again.",
        Refusal::ABSENT => "You are not in the contest yet: wait a moment.",
        Refusal::UNSENDABLE => "The line takes no more at present: wait a moment and ask again.",
        _ => Denial::from(refusal).words(),
    }
}

/// Why one is not let in.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
pub(super) fn of_door(denial: Door) -> &'static str {
    match denial {
        Door::TokenUsed => "That way in was used before: asking for another.",
        Door::TokenTooOld => "That way in is too old: asking for another.",
        Door::WrongServer => "That way in is for another server: load the page again.",
        Door::ServerFull => {
            "All seats are taken. You come in when somebody leaves; leave the page open."
        }
        Door::Busy => "Too many come at once: trying again in a moment.",
        Door::Unwelcome => "The server does not let you in. Ask whoever runs it.",
    }
}

/// Why it is over.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
pub(super) fn of_end(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Left => "You have left. Load the page again to come back.",
        CloseReason::ServerStopped => {
            "The server was stopped. You come back by yourself when it runs again."
        }
        CloseReason::Kicked => {
            "The server sent you away, because you asked for too much without listening."
        }
        CloseReason::Replaced => "You play on another page with this seat. Close this one.",
        CloseReason::Backlogged => "Your line is too slow for what is told. Coming back.",
        CloseReason::ProtocolViolation => {
            "Page and server do not understand each other: load the page again."
        }
        CloseReason::TimedOut => "Nothing was heard of the server for too long. Coming back.",
        CloseReason::Reset => "The server was started anew. Coming back.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_refused_or_over_is_said_in_a_sentence_and_not_by_a_name_of_ours() {
        let denials = (0..=u8::MAX).map(|code| of(Refusal(code)));
        let doors = Door::ALL.into_iter().map(of_door);
        let ends = [
            CloseReason::Left,
            CloseReason::ServerStopped,
            CloseReason::Kicked,
            CloseReason::Replaced,
            CloseReason::Backlogged,
            CloseReason::ProtocolViolation,
            CloseReason::TimedOut,
            CloseReason::Reset,
        ];
        for words in denials.chain(doors).chain(ends.into_iter().map(of_end)) {
            assert!(words.ends_with('.') && words.contains(' '), "{words}");
            let is_one_word = |word: &str| word.chars().skip(1).any(char::is_uppercase);
            assert!(!words.split(' ').any(is_one_word), "{words}");
        }
        assert_ne!(of(Refusal::FLOOD), Denial::NotPlaying.words());
    }
}
