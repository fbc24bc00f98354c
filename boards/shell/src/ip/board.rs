//! The vendor blocks of a board, by its file.

use super::{cmac, gty, pcie7, pcs_pma, xdma, Instance};
use crate::data::{Board, HostIp, Issue, Issues, Mac, MacKind};
use spindle_contract::pci::BOARDS;

/// The PCI subsystem id of a board.
///
/// # Errors
/// A board that the contract does not know.
pub fn subsystem(board: &Board) -> Result<u16, Issues> {
    let known = BOARDS.iter().find(|known| known.name == board.name).map(|known| known.number);
    known.ok_or_else(|| {
        issue(board, 0, format!("`{}` has no number; add the board to pci::BOARDS of the contract", board.name))
    })
}

/// The IP of a board: the host's side first, then the port of the network that is in use.
///
/// # Errors
/// A value that an IP does not have, or a breach of [`rules`](super::rules); a sentence each.
pub fn instances(board: &Board) -> Result<Vec<Instance>, Issues> {
    let instances = vec![host(board)?, network(board, board.mac())?];
    let breaches: Vec<Issue> = instances
        .iter()
        .flat_map(|instance| instance.check().err().unwrap_or_default())
        .map(|text| Issue { path: board.path.clone(), line: 0, text })
        .collect();
    match breaches.is_empty() {
        true => Ok(instances),
        false => Err(Issues(breaches)),
    }
}

fn host(board: &Board) -> Result<Instance, Issues> {
    let pcie = &board.pcie;
    let refuse = |text| issue(board, pcie.line, text);
    let subsystem = subsystem(board)?;
    match pcie.ip {
        HostIp::Xdma => {
            let quad =
                pcie.quads.first().ok_or_else(|| refuse("PCIe has no quad; give that of lane 0 first".into()))?;
            let quad = format!("GTY_Quad_{quad}");
            let options = xdma::Options { lanes: pcie.lanes, quad: &quad, block: pcie.block.as_deref(), subsystem };
            xdma::instance(&options).map_err(refuse)
        }
        HostIp::Pcie7x => {
            let block =
                pcie.block.as_deref().ok_or_else(|| refuse("pcie_7x needs its block; give block = \"X0Y0\"".into()))?;
            Ok(pcie7::instance(block, subsystem))
        }
    }
}

fn network(board: &Board, mac: &Mac) -> Result<Instance, Issues> {
    let refuse = |text| issue(board, mac.line, text);
    let mhz = |name: &str| {
        let clock = board.clock(name).map(|clock| clock.mhz);
        clock.ok_or_else(|| refuse(format!("there is no clock `{name}`; name one of [[clock]]")))
    };
    let refclk = mhz(&mac.refclk)?.to_string();
    let init = mhz(&board.free_running.clock)? / f64::from(board.free_running.divide);
    match mac.kind {
        MacKind::Cmac => {
            let site =
                mac.site.as_deref().ok_or_else(|| refuse("the MAC has no site; give site = \"CMACE4_X0Y4\"".into()))?;
            let first_lane = place(&mac.gt_lane0).ok_or_else(|| {
                refuse(format!("`{}` is no place of a transceiver; give one such as X0Y28", mac.gt_lane0))
            })?;
            // The IP writes two decimals at least: 100.00, and 78.125.
            let init = if (init * 100.0).fract() == 0.0 { format!("{init:.2}") } else { init.to_string() };
            let options = cmac::Options { number: 0, site, first_lane, refclk_mhz: &refclk, init_clock_mhz: &init };
            Ok(cmac::instance(&options))
        }
        MacKind::OwnPcs => {
            let options = gty::Options {
                number: 0,
                site: &mac.gt_lane0,
                gigabits: mac.rate_gbps,
                refclk_mhz: &refclk,
                init_clock_mhz: &init.to_string(),
            };
            gty::instance(&options).map_err(refuse)
        }
        MacKind::TenGigPcs => Ok(pcs_pma::instance(0, &init.to_string())),
    }
}

/// Column and row of `X0Y28`.
fn place(text: &str) -> Option<(usize, usize)> {
    let (x, y) = text.strip_prefix('X')?.split_once('Y')?;
    Some((x.parse().ok()?, y.parse().ok()?))
}

fn issue(board: &Board, line: usize, text: String) -> Issues {
    Issue { path: board.path.clone(), line, text }.into()
}
