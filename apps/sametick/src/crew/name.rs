//! What headless players are called.

/// People without whom there would be no such game.
const NAMES: [&str; 16] = [
    "Ada", "Alan", "Barbara", "Claude", "Dennis", "Edsger", "Frances", "Grace", "Hedy", "Ivan",
    "John", "Karen", "Linus", "Margaret", "Niklaus", "Radia",
];

/// The name of the n-th player.
pub(crate) fn name(index: usize) -> String {
    let name = NAMES[index % NAMES.len()];
    match index / NAMES.len() {
        0 => name.to_owned(),
        again => format!("{name} {}", again + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sametick_arena::NAME_BYTES_MAX;

    #[test]
    fn names_differ_and_fit() {
        let names: std::collections::BTreeSet<String> = (0..500).map(name).collect();
        assert_eq!(names.len(), 500);
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_MAX));
    }
}
