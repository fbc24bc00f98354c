//! Comparison of a run with the model of a shipped handler.

use crate::check::{compare_answers, compare_bytes, compare_drops, host_region, predict, Expected};
use crate::play::Played;
use anyhow::{ensure, Result};
use spindle::Rule;
use spindle_model::handlers;
use spindle_sdk::Handler;

/// Compares with the model of a shipped handler; `None` for any other handler. `region` is the handler's host memory, `preset` if memory
/// was filled before the run, which the models do not know.
pub fn check(
    handler: &Handler,
    rules: &[Rule],
    frames: &[Vec<u8>],
    played: &Played,
    region: &[u8],
    preset: bool,
) -> Result<Option<String>> {
    let Some((shipped, model)) = handler.shipped.and_then(|shipped| Some((shipped, handlers::by_name(shipped.name)?)))
    else {
        return Ok(None);
    };
    if preset {
        return Ok(Some("unchecked: memory was filled before the run".into()));
    }
    if played.interrupted && played.stats.inside() > 0 {
        return Ok(Some("unchecked: the run was interrupted with packets inside".into()));
    }
    let expected = Expected { rules, model, host_bytes: region.len() };
    let expectation = predict(&[expected], &frames[..played.numbers.len()], &played.numbers);
    let answers = compare_answers(&expectation, played)?;
    if expectation.proceeded == 0 {
        compare_drops(&expectation, &played.stats.drops)?;
    } else if played.stats.inside() == 0 {
        let ended = played.stats.frames_placed + played.stats.drops.iter().sum::<u32>();
        let predicted = expectation.proceeded + expectation.drops.iter().sum::<u32>();
        ensure!(ended == predicted, "{ended} packets were placed or dropped, the model says {predicted}");
    }
    compare_bytes("the host region", &host_region(&expectation, region.len()), region)?;
    if shipped.name == "place" {
        return Ok(Some(format!("checked: {} packets passed on, none answered", expectation.proceeded)));
    }
    Ok(Some(match (answers, expectation.host.len()) {
        (0, 0) => "checked: no packet was to be answered, none was".into(),
        (0, stored) => format!("checked: {stored} payloads in host memory byte-identical with the model"),
        (answers, _) => format!("checked: {answers} replies byte-identical with the model"),
    }))
}
