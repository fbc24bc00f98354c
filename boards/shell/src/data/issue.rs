//! What is wrong with a board file, and where.

use std::fmt;

/// A breach of a rule: one sentence, with the file and the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// The file, as given by the caller.
    pub path: String,
    /// The line, from 1; 0 if the file is absent or is meant as a whole.
    pub line: usize,
    /// The sentence.
    pub text: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// The breaches of a file, by line; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues(pub Vec<Issue>);

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, issue) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{issue}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

impl From<Issue> for Issues {
    fn from(issue: Issue) -> Self {
        Self(vec![issue])
    }
}
