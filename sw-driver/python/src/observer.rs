//! A running card that is looked at: as the commands do, nothing of it changes.

use crate::core::{lock, Closing};
use crate::failure::{refused, Result};
use crate::owned::Owned;
use crate::results;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spindle::{Device, Identity, SharedCard};
use std::sync::{Arc, Mutex};

/// Attach to a running card, and change nothing: for its configuration, its counters and its reset.
#[pyfunction]
pub fn attach(py: Python<'_>, address: &str) -> Result<Observer> {
    py.detach(|| {
        let card = spindle::open(address)?;
        let identity = card.lock().identity();
        let device = Device::attach(card.clone(), card.clone())?;
        Ok(Observer {
            address: identity.address.clone(),
            attached: Closing::new(Attached { card, identity, device: Mutex::new(device) }),
        })
    })
}

struct Attached {
    card: SharedCard,
    identity: Identity,
    device: Mutex<Device<SharedCard, SharedCard>>,
}

/// A running card that the program looks at; nothing of it changes but by ``reset``.
#[pyclass(module = "spindle", frozen)]
pub struct Observer {
    /// Address of the card.
    #[pyo3(get)]
    address: String,
    attached: Arc<Closing<Attached>>,
}

impl Observer {
    fn get(&self) -> Result<Arc<Owned<Attached>>> {
        match self.attached.get("the card") {
            Ok(attached) if attached.is_here() => Ok(attached),
            Ok(_) => refused("the program that forked this one has attached to the card; attach to it here"),
            Err(_) => refused("the card is closed; attach to it again"),
        }
    }
}

#[pymethods]
impl Observer {
    /// What the card is.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let attached = self.get()?;
        let info = py.detach(|| *lock(&attached.device).info());
        Ok(results::info(py, &attached.identity, &info)?)
    }

    /// All counters.
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let attached = self.get()?;
        let (counters, mhz) = py.detach(|| -> spindle::Result<_> {
            let mut device = lock(&attached.device);
            Ok((device.counters()?, device.info().clock_mhz))
        })?;
        Ok(results::stats(py, &self.address, mhz, &counters)?)
    }

    /// Contexts that were loaded to outlive their program, as by ``spindle load``.
    fn contexts<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyAny>>> {
        let attached = self.get()?;
        let residents = py.detach(|| -> spindle::Result<_> {
            // Others may have loaded some since.
            let mut device = lock(&attached.device);
            *device = Device::attach(attached.card.clone(), attached.card.clone())?;
            Ok(device.residents().to_vec())
        })?;
        let made = residents
            .into_iter()
            .map(|resident| results::named(py, "ContextInfo", (resident.context.0, resident.name, resident.process)));
        Ok(made.collect::<PyResult<_>>()?)
    }

    /// Reset the card: contexts, rules, windows and counters are gone.
    fn reset(&self, py: Python<'_>) -> Result<()> {
        let attached = self.get()?;
        Ok(py.detach(|| -> spindle::Result<()> {
            attached.card.lock().reset()?;
            *lock(&attached.device) = Device::attach(attached.card.clone(), attached.card.clone())?;
            Ok(())
        })?)
    }

    /// Leave the card.
    fn close(&self, py: Python<'_>) {
        let attached = self.attached.take();
        py.detach(|| drop(attached));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<spindle.Observer of {}>", self.address)
    }
}
