//! An archive that the kernel unpacks as its first file system: cpio, format "newc".

/// The archive, so far.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// Device of /dev/console: major and minor.
const CONSOLE: (u32, u32) = (5, 1);

impl Archive {
    /// An empty folder.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, &[], (0, 0));
    }

    /// A program.
    pub fn program(&mut self, name: &str, bytes: &[u8]) {
        self.entry(name, PROGRAM, bytes, (0, 0));
    }

    /// A file.
    pub fn file(&mut self, name: &str, bytes: &[u8]) {
        self.entry(name, FILE, bytes, (0, 0));
    }

    /// The console, which the first program has as its output from the start.
    pub fn console(&mut self) {
        self.entry("dev/console", CHARACTER_DEVICE, &[], CONSOLE);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], (0, 0));
        self.bytes
    }

    /// A header of 13 numbers of 8 hexadecimal digits, the name with a 0, the content; each padded to 4 bytes.
    fn entry(&mut self, name: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        self.entries += 1;
        let (bytes, name_bytes) = (content.len() as u32, name.len() as u32 + 1);
        let fields = [self.entries, mode, 0, 0, 1, 0, bytes, 0, 0, device.0, device.1, name_bytes, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn cpio_lists_what_is_in_the_archive() {
        let mut archive = Archive::default();
        archive.folder("dev");
        archive.file("dev/five", b"12345");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        // The third entry, and no other, is the trailer.
        let starts: Vec<usize> = (0..bytes.len() - 6).filter(|at| &bytes[*at..at + 6] == b"070701").collect();
        assert_eq!(starts.len(), 3);
        let field = |entry: usize, number: usize| {
            let at = starts[entry] + 6 + 8 * number;
            u32::from_str_radix(std::str::from_utf8(&bytes[at..at + 8]).unwrap(), 16).unwrap()
        };
        assert_eq!((field(1, 1), field(1, 6), field(1, 11)), (FILE, 5, 9));
        let Ok(mut cpio) = Command::new("cpio").arg("-it").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            return;
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "dev\ndev/five\n");
    }
}
