//! What holds at this moment for those who play.

use super::study::Study;
use crate::plan::Trial;

impl Study {
    /// The trial that a group is playing, with the settings that hold now; none if it plays nothing.
    pub fn playing_now(&self, group: u32) -> Option<Trial> {
        let index = (group as usize).checked_sub(1)?;
        let (place, _) = self.groups.get(index)?.playing?;
        Some(self.trial_now(index, place))
    }
}
