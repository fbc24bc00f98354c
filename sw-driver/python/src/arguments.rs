//! Arguments of Python calls: numbers, times, words, addresses of nodes.

use crate::failure::{argument, Failure, Result};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use spindle::Node;
use std::time::Duration;

/// A whole number, of `int` or of what numpy has for it. One beyond 128 bits is the nearest of 128 bits.
#[derive(Clone, Copy, Debug)]
pub struct Number(i128);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Number> {
        if object.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("a whole number is expected, and a bool is given"));
        }
        match object.extract::<i128>() {
            Ok(number) => Ok(Number(number)),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Number(if object.lt(0)? { i128::MIN } else { i128::MAX }))
            }
            Err(error) => Err(error),
        }
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Number {
        Number(number.into())
    }
}

impl Number {
    /// The number, if it is at least 0 and fits.
    pub fn fit<T: TryFrom<i128>>(self, what: &str) -> Result<T> {
        T::try_from(self.0).or_else(|_| {
            let bits = 8 * size_of::<T>();
            argument(format!("{what} is {}; give 0 to 2^{bits} - 1", self.0))
        })
    }
}

/// How long a call may wait, in seconds of the host's time; `None` in its place: for as long as it takes.
#[derive(Clone, Copy, Debug)]
pub struct Limit(pub Duration);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Limit> {
        let seconds: f64 = object.extract()?;
        if seconds.is_nan() || seconds < 0.0 {
            let sentence = format!("a timeout of {seconds} seconds; give 0 or more, or None to wait without a limit");
            return Err(Failure::Argument(sentence).into());
        }
        // More than a `Duration` holds does not end either.
        Ok(Limit(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
    }
}

/// A limit as the end of a sentence.
pub fn seconds(limit: Option<Limit>) -> String {
    limit.map_or("ever".into(), |Limit(limit)| format!("{} seconds", limit.as_secs_f64()))
}

/// A word of a list.
pub fn choose<T: Copy>(what: &str, word: &str, list: &[(&str, T)]) -> Result<T> {
    match list.iter().find(|(name, _)| *name == word) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<String> = list.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            argument(format!("there is no {what} \"{word}\"; give {}", names.join(", ")))
        }
    }
}

/// Addresses of a node: MAC, IPv4 and port.
#[derive(FromPyObject)]
pub struct Addresses(String, String, Number);

impl Addresses {
    /// As the driver has them.
    pub fn node(&self) -> Result<Node> {
        let Addresses(mac, ip, port) = self;
        let bytes: Option<Vec<u8>> = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
        let Some(Ok(mac)) = bytes.map(<[u8; 6]>::try_from) else {
            return argument(format!("`{mac}` is no MAC address; give one such as 02:00:00:00:01:05"));
        };
        let Ok(ip) = ip.parse::<std::net::Ipv4Addr>() else {
            return argument(format!("`{ip}` is no IPv4 address; give one such as 10.78.0.5"));
        };
        Ok(Node { mac, ip: ip.octets(), port: port.fit("the port of a node")? })
    }

    /// As Python has them.
    pub fn of(node: &Node) -> (String, String, u16) {
        let mac: Vec<String> = node.mac.iter().map(|byte| format!("{byte:02x}")).collect();
        (mac.join(":"), std::net::Ipv4Addr::from(node.ip).to_string(), node.port)
    }
}

/// The nodes that a card knows: the first so many with the addresses of their numbers, or these.
#[derive(FromPyObject)]
pub enum Nodes {
    /// So many.
    Count(Number),
    /// With these addresses.
    List(Vec<Addresses>),
}

impl Nodes {
    /// As the driver has them.
    pub fn list(&self) -> Result<Vec<Node>> {
        match self {
            Nodes::Count(count) => match count.fit::<u16>("the number of nodes")? {
                count @ 1..=256 => Ok((0..count).map(|number| Node::numbered(number as u8)).collect()),
                count => argument(format!("a network of {count} nodes; a card knows 1 to 256")),
            },
            Nodes::List(list) if list.is_empty() => {
                argument("the list of nodes is empty; give the addresses of node 0 at least")
            }
            Nodes::List(list) => list.iter().map(Addresses::node).collect(),
        }
    }
}
