//! A browser without a window: loads a page and returns its document after the scripts ran.
#![allow(dead_code, reason = "no test that shares this file uses all of it")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Longest time for a page.
const PATIENCE: Duration = Duration::from_secs(90);
/// No request of the page or of the browser leaves the machine: every name is unknown, and the only proxy does not answer.
const OFFLINE: [&str; 2] = ["--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"];
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--dump-dom",
];

/// A loaded document.
pub struct Document {
    /// Its markup after the scripts ran.
    pub markup: String,
    /// What the browser logged, messages of the page's console included.
    pub log: String,
}

/// Loads `file` with a fragment such as `fate=dropped`.
pub fn load(file: &Path, fragment: &str) -> Document {
    let profile = tempfile::tempdir().unwrap();
    let path = file.canonicalize().unwrap();
    // Names of files may hold any character.
    let address: String = path
        .to_str()
        .unwrap()
        .bytes()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    let output = Command::new("timeout")
        .arg(PATIENCE.as_secs().to_string())
        .arg("chromium")
        .args(QUIET)
        .args(OFFLINE)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--enable-logging=stderr")
        .arg(format!("file://{address}#{fragment}"))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "chromium failed; if it is missing, run `cargo xtask setup`: {log}");
    Document { markup: String::from_utf8_lossy(&output.stdout).into_owned(), log }
}

impl Document {
    /// Attribute `data-NAME` of the document's element.
    pub fn data(&self, name: &str) -> &str {
        let head = self.markup.split_once("<head>").expect("a document").0;
        let (_, rest) =
            head.split_once(&format!("data-{name}=\"")).unwrap_or_else(|| panic!("no data-{name} in {head}"));
        rest.split_once('"').unwrap().0
    }

    /// Rows of the packet table that the filters leave.
    pub fn shown(&self) -> u64 {
        self.data("shown").parse().unwrap()
    }

    /// Text after `mark`, up to the next `<`.
    pub fn after(&self, mark: &str) -> &str {
        let (_, rest) = self.markup.split_once(mark).unwrap_or_else(|| panic!("no {mark} in the page"));
        rest.split_once('<').unwrap().0
    }

    /// The scripts ran without an error or a refused resource, and nothing was requested.
    pub fn assert_sound(&self) {
        assert_eq!((self.data("ready"), self.data("errors"), self.data("resources")), ("true", "0", "0"));
        assert!(!self.log.contains("CONSOLE"), "{}", self.log);
    }
}
