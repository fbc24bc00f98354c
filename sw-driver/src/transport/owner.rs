//! Who has a file open: the owner of a card that is in use.

use std::fs;
use std::path::Path;

/// The programs that have `file` open, as `spindle (process 4711)`; of other users' programs only root sees the files.
pub fn owner_of(root: &Path, file: &Path) -> String {
    let mut found: Vec<(u32, String)> = Vec::new();
    for entry in fs::read_dir(root.join("proc")).into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let opened = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        if opened.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == file)) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let own = if pid == std::process::id() { "this program, " } else { "" };
            found.push((pid, format!("{own}{} (process {pid})", name.trim())));
        }
    }
    found.sort();
    if found.is_empty() {
        return format!("another program, which `sudo fuser {}` names", file.display());
    }
    found.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::fake::Machine;
    use super::*;

    #[test]
    fn owners_have_name_and_number() {
        let machine = Machine::new();
        machine.program(4711, "spindled", "dev/vfio/17");
        machine.program(12, "qemu", "dev/vfio/18");
        machine.program(99, "dpdk", "dev/vfio/17");
        let owner = owner_of(machine.root(), &machine.root().join("dev/vfio/17"));
        assert_eq!(owner, "dpdk (process 99), spindled (process 4711)");
        machine.program(std::process::id(), "test", "dev/vfio/18");
        let both = owner_of(machine.root(), &machine.root().join("dev/vfio/18"));
        assert!(both.contains("qemu (process 12)") && both.contains("this program, test (process"), "{both}");
        let unknown = owner_of(machine.root(), &machine.root().join("dev/vfio/19"));
        assert!(unknown.starts_with("another program, which `sudo fuser "), "{unknown}");
    }
}
