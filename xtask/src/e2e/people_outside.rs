//! What is added to a participant's line outside of the product is measured by the lab, and the round is flagged.

use anyhow::Result;

use super::{Stage, people};

pub(super) async fn run(stage: &Stage) -> Result<()> {
    people::outside(stage).await
}
