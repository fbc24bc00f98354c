//! The save file of GTKWave: the signals of a wave in groups.

use crate::record::{matches, WaveGroup, WaveOptions, WaveScope};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

/// GTKWave's flags of a row: numbers in hexadecimal or bits, at the right; the begin and the end of a group.
const HEXADECIMAL: &str = "@22";
const BITS: &str = "@28";
const GROUP_BEGINS: &str = "@800200";
const GROUP_ENDS: &str = "@1000200";

/// Cycles of the first view in 200 pixels, by which GTKWave counts.
const ZOOM_CYCLES: u64 = 400;

/// Writes the save file beside the wave `path`, with those of `names` (path, range, width) that are in a group.
pub(crate) fn write(path: &Path, options: &WaveOptions, names: &[(Vec<String>, String, u32)]) -> Result<()> {
    let save = path.with_extension("gtkw");
    let wave = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut groups = options.groups.clone();
    if let WaveScope::Paths(paths) = &options.scope {
        groups.extend(paths.iter().map(|path| WaveGroup { name: path.clone(), paths: vec![path.clone()] }));
    }
    let start = options.window.start.saturating_sub(options.origin) * options.period_ps;
    let zoom = ((ZOOM_CYCLES * options.period_ps) as f64).log2();
    let text = text(&wave.display().to_string(), (start, zoom), &groups, names)?;
    std::fs::write(&save, text).with_context(|| format!("the save file {} cannot be written", save.display()))
}

/// The first view begins at the time `start`; 200 pixels of it take 2 to the power of `zoom` units of time.
fn text(
    wave: &str,
    (start, zoom): (u64, f64),
    groups: &[WaveGroup],
    names: &[(Vec<String>, String, u32)],
) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "[dumpfile] \"{wave}\"\n[timestart] {start}\n[size] 1400 900\n[signals_width] 300")?;
    writeln!(text, "*-{zoom:.1} -1\n[sst_expanded] 1")?;
    // A signal is listed in the first group that names it.
    let mut listed = vec![false; names.len()];
    for group in groups {
        let mut rows = String::new();
        for ((path, range, width), listed) in names.iter().zip(&mut listed) {
            if !*listed && group.paths.iter().any(|wanted| matches(wanted, path)) {
                let flags = if *width > 1 { HEXADECIMAL } else { BITS };
                writeln!(rows, "{flags}\n{}{range}", path.join("."))?;
                *listed = true;
            }
        }
        if !rows.is_empty() {
            write!(text, "{GROUP_BEGINS}\n-{0}\n{rows}{GROUP_ENDS}\n-{0}\n", group.name)?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_listed_in_its_first_group_and_an_empty_group_is_not() {
        let name = |path: &str, range: &str, width| (path.split('.').map(String::from).collect(), range.into(), width);
        let names = [name("t.a_valid", "", 1), name("t.a_data", "[7:0]", 8), name("t.u.b", "", 1)];
        let group = |name: &str, paths: &[&str]| WaveGroup {
            name: name.into(),
            paths: paths.iter().map(|path| path.to_string()).collect(),
        };
        let groups = [group("stream", &["t.a_*"]), group("none", &["t.x"]), group("rest", &["t.*"])];
        let text = text("/w.vcd", (40, 20.61), &groups, &names).unwrap();
        let wanted = "@800200\n-stream\n@28\nt.a_valid\n@22\nt.a_data[7:0]\n@1000200\n-stream\n\
                      @800200\n-rest\n@28\nt.u.b\n@1000200\n-rest\n";
        assert!(text.contains("[dumpfile] \"/w.vcd\"\n[timestart] 40\n") && text.ends_with(wanted), "{text}");
        assert!(text.contains("\n*-20.6 -1\n"), "{text}");
    }
}
