//! The text of a design and the options of its build.

use sha2::{Digest, Sha256};

/// How a model is built. Different options give different shared objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// Compile wave recording in. Recording costs speed even while no wave is open, so it is off by default.
    pub trace: bool,
    /// Preprocessor definitions, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

/// The text of a design. File names only serve messages; they must be plain names without folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the top module.
    pub top: String,
    /// `(file name, text)`, in compilation order.
    pub files: Vec<(String, String)>,
    /// How to build it.
    pub options: BuildOptions,
}

/// A design of the back end, one file for each module.
impl From<spindle_verilog::Design> for Source {
    fn from(design: spindle_verilog::Design) -> Source {
        let files = design.modules.into_iter().map(|module| (format!("{}.sv", module.name), module.text)).collect();
        Source::new(design.top, files)
    }
}

impl Source {
    /// A design built with the default options.
    pub fn new(top: impl Into<String>, files: Vec<(String, String)>) -> Self {
        Self { top: top.into(), files, options: BuildOptions::default() }
    }

    /// A design that is one text.
    pub fn from_text(top: impl Into<String>, text: impl Into<String>) -> Self {
        let top = top.into();
        let file = format!("{top}.sv");
        Self::new(top, vec![(file, text.into())])
    }

    /// The same design with wave recording compiled in or left out.
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.options.trace = trace;
        self
    }

    /// Name of the cache entry: depends on every text, every option and on `tools` (versions and fixed flags).
    pub(crate) fn fingerprint(&self, tools: &[&str]) -> String {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            // The length in front keeps ("ab", "c") apart from ("a", "bc").
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(&self.top);
        for (name, text) in &self.files {
            field(name);
            field(text);
        }
        field(if self.options.trace { "traced" } else { "untraced" });
        for define in &self.options.defines {
            field(define);
        }
        for tool in tools {
            field(tool);
        }
        hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn fingerprint_depends_on_everything_it_should() {
        let base = Source::from_text("t", "module t; endmodule");
        let print = |s: &Source| s.fingerprint(&["5.006"]);
        assert_eq!(print(&base), print(&base.clone()));
        assert_ne!(print(&base), print(&base.clone().with_trace(true)));
        assert_ne!(print(&base), base.fingerprint(&["5.048"]));
        let mut moved = base.clone();
        moved.files = vec![("t.svm".into(), "odule t; endmodule".into())];
        assert_ne!(print(&base), print(&moved));
        let mut defined = base.clone();
        defined.options.defines.push("RVFI".into());
        assert_ne!(print(&base), print(&defined));
    }
}
