//! Handlers in an execution context.

use crate::arguments::{choose, Number};
use crate::core::{Closing, Core, OpenDevice};
use crate::failure::{argument, Failure, Result};
use crate::memory::to_write;
use crate::owned::Owned;
use crate::pages::HandlerMemory;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, Overload, Rule};
use spindle_rvma::Context;
use std::path::PathBuf;
use std::sync::Arc;

/// An image of handlers.
#[derive(FromPyObject)]
pub enum Image {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Its file.
    File(PathBuf),
}

impl Image {
    fn read(self) -> Result<Vec<u8>> {
        match self {
            Image::Bytes(bytes) => Ok(bytes),
            Image::File(path) => Ok(std::fs::read(&path).map_err(|error| {
                let sentence = format!("cannot read the image {}: {error}", path.display());
                // The class of the system's error, such as FileNotFoundError.
                let number = error.raw_os_error().unwrap_or(0);
                PyErr::from(std::io::Error::from_raw_os_error(number)).with_sentence(number, &sentence)
            })?),
        }
    }
}

/// An error of the system with another sentence.
trait WithSentence {
    fn with_sentence(self, number: i32, sentence: &str) -> PyErr;
}

impl WithSentence for PyErr {
    fn with_sentence(self, number: i32, sentence: &str) -> PyErr {
        Python::attach(|py| match self.get_type(py).call1((number, sentence)) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        })
    }
}

/// How a context is made.
pub struct Options<'a> {
    pub watchdog: Number,
    pub state_bytes: Number,
    pub weight: Number,
    pub message_quota: Number,
    pub packet_quota: Number,
    pub overload: &'a str,
}

impl Options<'_> {
    fn check(&self) -> Result<ContextOptions> {
        let overloads = [("drop", Overload::Drop), ("place", Overload::Place), ("pause", Overload::Pause)];
        Ok(ContextOptions {
            watchdog: self.watchdog.fit("the watchdog")?,
            state_bytes: self.state_bytes.fit::<u32>("the bytes of context memory")? as usize,
            weight: self.weight.fit("the weight")?,
            message_quota: self.message_quota.fit("the message quota")?,
            packet_quota: self.packet_quota.fit("the packet quota")?,
            overload: choose("treatment of overload", self.overload, &overloads)?,
            ..ContextOptions::default()
        })
    }
}

/// Rules of a context: one, or several.
#[derive(FromPyObject)]
pub enum Rules {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Rules {
    fn parse(self) -> Result<Vec<Rule>> {
        let texts = match self {
            Rules::One(text) => vec![text],
            Rules::Several(texts) => texts,
        };
        let parse = |text: &String| match text.trim() {
            "" => Ok(Rule::any()),
            text => text.parse::<Rule>().map_err(|error| Failure::from(spindle::Error::from(error))),
        };
        texts.iter().map(parse).collect()
    }
}

/// A context that has an image.
pub struct Loaded {
    /// The context.
    pub context: Context,
    _memory: Option<HandlerMemory>,
}

/// Handlers in an execution context of a card. The context ends with ``unload``, the object, or the card.
#[pyclass(module = "spindle", frozen)]
pub struct Handlers {
    core: Arc<Core>,
    open: Arc<Closing<Loaded>>,
    /// Number of the context on the card.
    #[pyo3(get)]
    number: usize,
}

impl Handlers {
    /// Loads an image, and connects it to the packets of rules.
    ///
    /// # Errors
    /// The image cannot be read or cannot run on the card, a rule or an option is wrong, or the card has no room.
    pub fn load(
        py: Python<'_>,
        core: &Arc<Core>,
        image: Image,
        rules: Rules,
        messages: bool,
        options: &Options<'_>,
        memory: Option<&Bound<'_, PyAny>>,
    ) -> Result<Handlers> {
        let nic = core.nic()?;
        let mut options = options.check()?;
        let rules = rules.parse()?;
        let memory = memory.map(|memory| to_write(core, memory, "the memory of the handlers")).transpose()?;
        if let Some(bytes) = &memory {
            options.host_region = Some((bytes.range.start, bytes.length()?));
        }
        let context = py.detach(|| -> Result<Context> {
            let context = Context::load(&nic, &image.read()?, options)?;
            for rule in rules {
                context.connect(rule, action(context.id(), messages))?;
            }
            Ok(context)
        })?;
        let number = context.number();
        let memory = memory.and_then(|bytes| bytes.pages).map(HandlerMemory::new);
        let open = Closing::new(Loaded { context, _memory: memory });
        core.add_context(&open);
        Ok(Handlers { core: core.clone(), open, number })
    }

    fn get(&self) -> Result<Arc<Owned<Loaded>>> {
        self.core.nic()?;
        self.open.get("the context")
    }

    /// A call of the driver for this context.
    fn on_context<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut OpenDevice, ContextId) -> spindle::Result<T> + Send,
    ) -> Result<T> {
        let context = self.get()?.context.id();
        let nic = self.core.nic()?;
        Ok(py.detach(|| call(&mut nic.node().driver(), context))?)
    }

    /// Its number, for windows.
    pub fn id(&self, core: &Arc<Core>) -> Result<ContextId> {
        if !Arc::ptr_eq(core, &self.core) {
            return argument("the handlers belong to another card; load them on this card");
        }
        Ok(self.get()?.context.id())
    }
}

fn action(context: ContextId, messages: bool) -> Action {
    if messages {
        Action::ContextPerMessage(context)
    } else {
        Action::Context(context)
    }
}

#[pymethods]
impl Handlers {
    /// Give the handlers the packets of further rules.
    #[pyo3(signature = (rules, *, messages = false))]
    fn connect(&self, py: Python<'_>, rules: Rules, messages: bool) -> Result<()> {
        let loaded = self.get()?;
        let context = &loaded.context;
        let rules = rules.parse()?;
        py.detach(|| {
            for rule in rules {
                context.connect(rule, action(context.id(), messages))?;
            }
            Ok(())
        })
    }

    /// Take all rules back. What the context has accepted is still handled.
    fn disconnect(&self, py: Python<'_>) -> Result<()> {
        let loaded = self.get()?;
        Ok(py.detach(|| loaded.context.disconnect())?)
    }

    /// Bytes of the context memory, as the handlers have left them.
    fn read<'py>(&self, py: Python<'py>, offset: Number, length: Number) -> Result<Bound<'py, PyBytes>> {
        let loaded = self.get()?;
        let (offset, length) = (offset.fit::<u32>("the offset")? as usize, length.fit::<u32>("the length")? as usize);
        let nic = self.core.nic()?;
        let bytes = py.detach(|| -> Result<Vec<u8>> {
            // The driver refuses what is beyond the context, but has to be given room first.
            let most = nic.node().driver().info().l2_bytes;
            if length > most {
                return argument(format!("{length} bytes of context memory; the card has {most}"));
            }
            let mut bytes = vec![0; length];
            loaded.context.read_state(offset, &mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Write bytes of the context memory, in words of four bytes; the last one is padded with zeros.
    fn write(&self, py: Python<'_>, offset: Number, data: Vec<u8>) -> Result<()> {
        let loaded = self.get()?;
        let offset = offset.fit::<u32>("the offset")? as usize;
        Ok(py.detach(|| loaded.context.write_state(offset, &data))?)
    }

    /// Run the image's ``task_handler`` with this argument of 64 bits, after a delay in cycles of the card.
    #[pyo3(signature = (argument, *, delay = Number::from(0)), text_signature = "($self, argument, *, delay=0)")]
    fn start_task(&self, py: Python<'_>, argument: Number, delay: Number) -> Result<()> {
        let (argument, delay) = (argument.fit("the argument of the task")?, delay.fit("the delay")?);
        self.on_context(py, |device, context| device.start_task(context, argument, delay))
    }

    /// Cancel one task that waits with this argument; whether there was one.
    fn cancel_task(&self, py: Python<'_>, argument: Number) -> Result<bool> {
        let argument = argument.fit("the argument of the task")?;
        self.on_context(py, |device, context| device.cancel_task(context, argument))
    }

    /// Take the rules back, let messages end, and give the context back.
    fn unload(&self, py: Python<'_>) -> Result<()> {
        let Ok(loaded) = self.get() else { return Ok(()) };
        py.detach(|| loaded.context.unload())?;
        self.open.take();
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> Result<()> {
        self.unload(py)
    }

    fn __repr__(&self) -> String {
        let state = if self.get().is_ok() { "loaded" } else { "unloaded" };
        format!("<spindle.Handlers in context {}, {state}>", self.number)
    }
}
