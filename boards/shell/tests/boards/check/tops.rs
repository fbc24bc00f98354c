//! The top of a board as a whole: clean as it is emitted, and each fault in it is found.

use crate::yosys::yosys;
use spindle_boards::check::board::{check, Checked};
use spindle_boards::data::Board;
use spindle_boards::shell::{self, timing, top, Commit, ShellDesign};
use spindle_contract::params::Config;
use std::path::Path;

/// The top of a board around a small NIC, which is a black box here.
fn design(board: &Board) -> ShellDesign {
    let shell = shell::shell(board, &Config::SIM, &Commit::unknown()).unwrap().expect("the board has a shell");
    ShellDesign { design: top::design(board, shell).unwrap(), timing: timing::of(board) }
}

fn judge(board: &Board, design: &ShellDesign, tool: &Path) -> Checked {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    check(board, design, tool, folder.path()).unwrap_or_else(|sentence| panic!("{sentence}"))
}

#[test]
fn a_top_is_clean_and_its_faults_are_found() {
    let Some(tool) = yosys() else { return };
    let board = Board::named("u50").unwrap();
    let design = design(&board);
    let clean = judge(&board, &design, &tool);
    assert_eq!((clean.findings, clean.clock_pairs), (vec![], 2));
    assert!(clean.crossings > 20 && clean.names > 150, "{} crossings, {} names", clean.crossings, clean.names);
    assert!(clean.list.contains("cmac0/gt_txusrclk2 -> xdma/axi_aclk"), "{}", clean.list);

    // Several faults at once, in different places: yosys reads the whole top each time.
    let line = board.pin("hbm_cattrip").unwrap().line;
    let faults = [
        (
            "top_u50",
            ["\t\t.I(1'b0),\n\t\t.O(hbm_cattrip)", "\t\t.O(hbm_cattrip)"],
            format!("boards/u50/board.toml:{line}: `hbm_cattrip` is not driven, and has to be driven by the constant 0"),
        ),
        (
            "reset_pair",
            ["run_near <= run;", "run_near <= run & ask;"],
            "register `shell.wire_side.link_reset.run` (clock `xdma/axi_aclk`) passes logic on its way to the synchroniser register \
             `shell.wire_side.link_reset.run_near` (clock `cmac0/gt_txusrclk2`); put a register before it"
                .into(),
        ),
        (
            "reset_pair",
            ["echo_seen <= echo_near;", "echo_seen <= echo;"],
            "register `shell.wire_side.link_reset.echo` (clock `cmac0/gt_txusrclk2`) goes into register \
             `shell.wire_side.link_reset.echo_seen` (clock `xdma/axi_aclk`), and logic reads this register; \
             put a second one between, marked ASYNC_REG"
                .into(),
        ),
    ];
    let mut broken = design;
    for (module, [from, to], _) in &faults {
        let module = broken.design.modules.iter_mut().find(|known| known.name == *module).expect("the module is there");
        assert!(module.text.contains(from), "`{from}` in {}", module.name);
        module.text = module.text.replacen(from, to, 1);
    }
    let found = judge(&board, &broken, &tool).findings;
    for (_, _, finding) in &faults {
        assert!(found.contains(finding), "{finding}: {found:#?}");
    }
}

/// Five clocks, two of them with common edges: the paths between these are timed, and every other one has its synchroniser.
#[test]
fn a_top_with_a_divided_clock_is_clean_and_its_faults_are_found() {
    let Some(tool) = yosys() else { return };
    // With pause frames, which cross between receiver and transmitter.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../kcu116/board.toml");
    let text = std::fs::read_to_string(path).unwrap().replacen("used = true", "used = true\npause = true", 1);
    let board = Board::parse("boards/kcu116/board.toml", &text).unwrap_or_else(|issues| panic!("{issues}"));
    let mut design = design(&board);
    let clean = judge(&board, &design, &tool);
    assert_eq!(clean.findings, Vec::<String>::new());
    assert!(clean.list.contains("xdma/axi_aclk -> core_clk_bufg/O\n  timed "), "{}", clean.list);

    // The core's clock comes from elsewhere: what was timed is a crossing without synchroniser.
    let top = design.design.modules.last_mut().expect("the top is the last");
    assert!(top.text.contains(".I(xdma_axi_aclk),\n"), "{}", top.text);
    top.text = top.text.replacen(".I(xdma_axi_aclk),\n", ".I(board_clk_raw),\n", 1);
    let found = judge(&board, &design, &tool).findings;
    assert!(found.iter().any(|finding| finding.contains("shell.host_gearbox.")), "{found:#?}");
}
