//! The figures of the handler processor, measured on it alone: everything around its ports is the bench of `spindle_sim::hart`, and idle.

use super::measure::Figure;
use super::suites;
use anyhow::{Context, Result};
use serde_json::json;
use spindle_hart::kernels::{self, Kernel, KERNELS};
use spindle_hart::{Cycles, Hart};
use std::path::Path;

/// Keys of [`cycles`].
pub const CYCLES: &[&str] = &[
    "hpu.start_cycles",
    "hpu.switch_cycles",
    "hpu.branch_penalty",
    "hpu.load_use",
    "hpu.mul_latency",
    "hpu.div_latency",
];

/// Keys of [`kernels`], in the order of [`KERNELS`].
pub const CPI: &[&str] = &[
    "hpu.cpi.ping_pong",
    "hpu.cpi.aggregate",
    "hpu.cpi.filtering",
    "hpu.cpi.histogram",
    "hpu.cpi.memcpy",
    "hpu.cpi.crc32",
];

/// Those of them that are little else than straight code.
pub const STRAIGHT: &[&str] = &["hpu.cpi.ping_pong", "hpu.cpi.filtering"];

/// What instructions and handlers cost.
pub fn cycles(hart: &mut Hart) -> Result<Vec<Figure>> {
    let cycles = Cycles::measure(hart)?;
    let from_use = |what: &str| format!("bubbles between {what} and the use of its result right after it");
    let values = [
        (cycles.start, "from a resolved return to the first fetch of the preloaded handler".into()),
        (cycles.switch, "from the instruction that has to wait, in M1, to the first fetch of another handler".into()),
        (cycles.piece("branch, taken").0, "bubbles of a taken branch that was not predicted".into()),
        (cycles.latency("`lw`, aligned, L1"), from_use("a load of an aligned word of L1")),
        (cycles.latency("`mul`"), from_use("a multiplication")),
        (cycles.latency("`div`, `rem`"), from_use("a division")),
    ];
    Ok(CYCLES.iter().zip(values).map(|(key, (value, how))| Figure::new(key, value, how)).collect())
}

/// Cycles per instruction of the kernels.
pub fn kernels(hart: &mut Hart) -> Result<Vec<Figure>> {
    KERNELS
        .iter()
        .zip(CPI)
        .map(|(kernel, key)| {
            let run = Kernel::worst(&kernel.measure(hart)?);
            let how = format!(
                "{} cycles of {} instructions, first run, packet of {} bytes, the worst of {:?}; second run {:.3}",
                run.cold,
                run.instructions,
                run.length,
                kernels::LENGTHS,
                run.warm_cpi()
            );
            Ok(Figure::new(key, run.cold_cpi(), how))
        })
        .collect()
}

/// The user's own programs.
pub fn bench(hart: &mut Hart, folder: Option<&Path>) -> Result<Vec<Figure>> {
    let folder = folder.context("needs sources of the user: a program, CoreMark or Embench: --bench DIR")?;
    let scores = suites::run(hart, folder)?;
    let how = format!("{} of {}, data in L1", suites::describe(folder), folder.display());
    Ok(vec![Figure::new("hpu.bench", json!(scores), how)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_contract::params::Config;
    use spindle_hart::open;

    #[test]
    fn keys_are_those_of_the_kernels() {
        let names: Vec<String> = KERNELS.iter().map(|kernel| format!("hpu.cpi.{}", kernel.name)).collect();
        assert_eq!(names, CPI);
    }

    #[test]
    fn a_program_of_the_user_is_run() {
        let mut hart = open(&Config::SIM, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let error = bench(&mut hart, Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("no .c files"), "{error}");
        std::fs::write(
            folder.path().join("main.c"),
            "#include \"other.h\"\nint counts[10];\nint main(void) { int sum = 0;\n\
             for (int i = 0; i < 10; i++) counts[i] = other(i); for (int i = 0; i < 10; i++) sum += counts[i];\n\
             return sum == 285 ? 0 : 1; }\n",
        )
        .unwrap();
        std::fs::write(folder.path().join("other.h"), "int other(int);\n").unwrap();
        std::fs::write(folder.path().join("other.c"), "#include \"other.h\"\nint other(int i) { return i * i; }\n")
            .unwrap();
        let figures = bench(&mut hart, Some(folder.path())).unwrap();
        let value = &figures[0].value["main"];
        assert!(value["instructions"].as_u64().unwrap() > 60 && value["cpi"].as_f64().unwrap() > 1.0, "{value}");
        std::fs::write(folder.path().join("other.c"), "int other(int i) { return i; }\n").unwrap();
        let error = bench(&mut hart, Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("main returns 1"), "{error}");
        assert!(bench(&mut hart, None).unwrap_err().to_string().contains("--bench"));
    }

    /// Folders that look like the suites, with a tiny program in the place of theirs.
    #[test]
    fn suites_are_told_by_their_files() {
        let mut hart = open(&Config::SIM, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let core = |error: &str| {
            format!(
                "#include \"coremark.h\"\nint main(void) {{ core_portable port; portable_init(&port, 0, 0); start_time();\n\
                 for (volatile int i = 0; i < 50; i++); stop_time(); ee_printf(\"2K performance run\"); {error}\n\
                 portable_fini(&port); return time_in_secs(get_time()); }}\n"
            )
        };
        write(
            "coremark.h",
            "#include \"core_portme.h\"\ntypedef ee_u32 secs_ret;\nvoid start_time(void), \
            stop_time(void);\nCORE_TICKS get_time(void); secs_ret time_in_secs(CORE_TICKS);\n",
        );
        write("core_main.c", &core(""));
        let value = bench(&mut hart, Some(folder.path())).unwrap().remove(0).value;
        let cycles = value["coremark"]["cycles"].as_u64().unwrap();
        assert!((150..2000).contains(&cycles), "{value}");
        let per_mhz = value["coremark"]["coremark_per_mhz"].as_f64().unwrap();
        assert!((per_mhz * cycles as f64 / 2e6 - 1.0).abs() < 1e-9, "{value}");
        // A result that CoreMark finds wrong is no figure.
        write("core_main.c", &core("ee_printf(\"[%u]ERROR! list crc\");"));
        let error = bench(&mut hart, Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("main faults"), "{error}");
    }
}
