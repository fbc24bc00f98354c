//! Failures as exceptions of `spindle.errors`, with the driver's sentences.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use spindle::Error;
use spindle_rvma::{PutFailed, Refused};

/// Result of the module.
pub type Result<T> = std::result::Result<T, Failure>;

/// What a call failed at.
#[derive(Debug)]
pub enum Failure {
    /// An exception of Python.
    Python(PyErr),
    /// A failure of the driver or of `librvma`.
    Driver(anyhow::Error),
    /// The card or the library is not in the state for the call.
    Refused(String),
    /// An argument outside its range.
    Argument(String),
    /// The limit of a wait was reached.
    Timeout(String),
    /// The system has no memory.
    Memory(String),
}

/// The failure of an argument.
pub fn argument<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Failure::Argument(sentence.into()))
}

/// The failure of a call in the wrong state.
pub fn refused<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Failure::Refused(sentence.into()))
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Failure {
        Failure::Python(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Driver(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Driver(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Python(error) => error,
            Failure::Driver(error) => exception(class_of(&error), format!("{error:#}")),
            Failure::Refused(sentence) => exception("Refused", sentence),
            Failure::Argument(sentence) => exception("BadArgument", sentence),
            Failure::Timeout(sentence) => exception("Timeout", sentence),
            Failure::Memory(sentence) => PyMemoryError::new_err(sentence),
        }
    }
}

/// The class of an error in `spindle.errors`.
fn class_of(error: &anyhow::Error) -> &'static str {
    if error.is::<Refused>() {
        return "Refused";
    }
    if error.is::<PutFailed>() {
        return "PutFailed";
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Gone { .. }) => "Gone",
        Some(Error::Busy { .. }) => "Busy",
        Some(Error::Permission { .. }) => "Permission",
        Some(Error::Timeout { .. }) => "Timeout",
        Some(Error::Argument(_) | Error::Image(_) | Error::Rule(_)) => "BadArgument",
        Some(Error::Doorbell { .. } | Error::Refused { .. } | Error::Full { .. } | Error::Terms(_)) => "Refused",
        Some(Error::NotSpindle(_) | Error::Version { .. } | Error::NoBlock(_)) => "WrongCard",
        _ => "SpindleError",
    }
}

/// An exception of a class of `spindle.errors`.
fn exception(class: &str, sentence: String) -> PyErr {
    Python::attach(|py| {
        let made = py.import("spindle.errors").and_then(|module| module.getattr(class)?.call1((sentence,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}
