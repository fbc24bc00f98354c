//! The one error of the back end: where, and one sentence.

use std::fmt;

/// Why a design could not be emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmitError {
    /// Source file, relative to the workspace; empty when the error concerns no line of a description.
    pub file: String,
    /// Line in that file, from 1; 0 when unknown.
    pub line: u32,
    /// One sentence with the remedy.
    pub message: String,
}

/// Result of everything that can refuse a description.
pub type Result<T> = std::result::Result<T, EmitError>;

impl EmitError {
    /// An error that concerns no line of a description, such as an illegal parameter.
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::new("", 0, message)
    }

    pub(crate) fn new(file: &str, line: u32, message: impl Into<String>) -> Self {
        Self { file: file.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.is_empty(), self.line) {
            (true, _) => write!(f, "{}", self.message),
            (false, 0) => write!(f, "{}: {}", self.file, self.message),
            (false, line) => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for EmitError {}
