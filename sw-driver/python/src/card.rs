//! A card that is open.

use crate::arguments::{choose, seconds, Addresses, Limit, Number};
use crate::context::{Handlers, Image, Options, Rules};
use crate::core::{Core, OpenDevice};
use crate::failure::{argument, Failure, Result};
use crate::memory::Memory;
use crate::results;
use crate::transfer::{self, Operation, Stream};
use crate::waiting::wait;
use crate::window::{check_owner, Window};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spindle::congestion::Congestion;
use spindle::put::{Kind, Reply, Target};
use spindle::window::{Counting, WindowOptions};
use spindle::Icrc;
use spindle_rvma::Nic;
use std::sync::Arc;

/// A process of a card. It is open until ``close``, the end of its ``with`` block, or until nothing of it is left.
///
/// Every thread may use it and what it returns.
#[pyclass(module = "spindle", frozen)]
pub struct Card {
    core: Arc<Core>,
    /// Address by which it was opened.
    #[pyo3(get)]
    address: String,
}

impl Card {
    /// A process that was opened by this address.
    pub fn new(nic: Nic, address: &str) -> Card {
        Card { core: Core::new(nic), address: address.to_owned() }
    }

    /// A call of the driver.
    fn on_device<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut OpenDevice) -> spindle::Result<T> + Send,
    ) -> Result<T> {
        let nic = self.core.nic()?;
        Ok(py.detach(|| call(&mut nic.node().driver()))?)
    }
}

/// A place in a window of another node, for puts of a kind.
fn target(node: Number, process: Number, address: Number, key: Number, offset: Number, kind: Kind) -> Result<Target> {
    Ok(Target {
        node: node.fit("the node")?,
        process: process.fit("the process")?,
        address: address.fit("the address of the window")?,
        key: key.fit("the key")?,
        offset: offset.fit("the offset")?,
        kind,
    })
}

#[pymethods]
impl Card {
    /// What the card is.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let nic = self.core.nic()?;
        let (identity, info) = py.detach(|| (nic.node().card().lock().identity(), *nic.node().driver().info()));
        Ok(results::info(py, &identity, &info)?)
    }

    /// The process of the card.
    #[getter]
    fn process(&self) -> Result<usize> {
        Ok(self.core.nic()?.process())
    }

    /// Cycles of the card since its reset.
    #[getter]
    fn cycle(&self, py: Python<'_>) -> Result<u64> {
        self.on_device(py, |device| device.cycle())
    }

    /// Whether the program has closed the card.
    #[getter]
    fn closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Zeroed memory that the card and the program share.
    ///
    /// A process has 16 regions of whole pages. Neighbouring allocations share one, and new ones fill gaps first.
    fn alloc(&self, py: Python<'_>, bytes: Number) -> Result<Memory> {
        let bytes = bytes.fit::<u64>("the number of bytes")?;
        py.detach(|| Memory::new(&self.core, bytes as usize))
    }

    /// Load handlers into a context of the card, and give them the packets of rules.
    ///
    /// ``image``: an ELF file of ``spindle build``, or its bytes. ``rules``: such as ``"udp.dport == 9000"``; the empty
    /// rule has every packet. ``messages``: the Spindle header names the message, and handlers run for each message,
    /// not for each packet. ``memory``: memory of the card that the handlers may write. ``watchdog``: cycles after
    /// which a handler is ended. ``state_bytes``: context memory beyond the image's variables. ``weight``: share of the
    /// processors' time, 1 to 255. Quotas limit live messages and packets inside; 0 is no limit. ``overload``:
    /// treatment of packets beyond a limit.
    #[pyo3(
        signature = (
            image, rules = None, *, messages = false, memory = None, watchdog = Number::from(100_000),
            state_bytes = Number::from(0), weight = Number::from(1), message_quota = Number::from(0),
            packet_quota = Number::from(0), overload = "drop"
        ),
        text_signature = "($self, image, rules=(), *, messages=False, memory=None, watchdog=100000, state_bytes=0, weight=1, \
                          message_quota=0, packet_quota=0, overload='drop')"
    )]
    #[allow(clippy::too_many_arguments, reason = "all but two are keywords")]
    fn load(
        &self,
        py: Python<'_>,
        image: Image,
        rules: Option<Rules>,
        messages: bool,
        memory: Option<&Bound<'_, PyAny>>,
        watchdog: Number,
        state_bytes: Number,
        weight: Number,
        message_quota: Number,
        packet_quota: Number,
        overload: &str,
    ) -> Result<Handlers> {
        let options = Options { watchdog, state_bytes, weight, message_quota, packet_quota, overload };
        let rules = rules.unwrap_or(Rules::Several(Vec::new()));
        Handlers::load(py, &self.core, image, rules, messages, &options, memory)
    }

    /// Open a window at a virtual address, for senders that know the key.
    ///
    /// ``threshold``: a buffer is complete after so many bytes or operations; one of a managed window or stream, when
    /// less than this is left of it. ``kind``: where a message goes. ``bound``: to its offset in the oldest buffer.
    /// ``tagged``: the sender names the buffer by its epoch. ``managed``: after the message before. ``stream``:
    /// likewise, in the sender's order. ``silent``: senders are not informed of refused packets. ``spills``: messages
    /// without buffer go to the catch-all window. ``catch_all``: this managed window is that of its process.
    /// ``events``: ``next_event`` reports each complete buffer. ``handlers``: they run on the messages of the window.
    #[pyo3(
        signature = (
            address, *, threshold, key = Number::from(0), counting = "bytes", kind = "bound", silent = false,
            spills = false, catch_all = false, events = false, handlers = None
        ),
        text_signature = "($self, address, *, threshold, key=0, counting='bytes', kind='bound', silent=False, spills=False, \
                          catch_all=False, events=False, handlers=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "all but one are keywords")]
    fn window(
        &self,
        py: Python<'_>,
        address: Number,
        threshold: Number,
        key: Number,
        counting: &str,
        kind: &str,
        silent: bool,
        spills: bool,
        catch_all: bool,
        events: bool,
        handlers: Option<&Handlers>,
    ) -> Result<Window> {
        let nic = self.core.nic()?;
        let countings = [("bytes", Counting::Bytes), ("operations", Counting::Operations)];
        let kinds = [
            ("bound", (false, false)),
            ("tagged", (true, false)),
            ("managed", (false, true)),
            ("stream", (true, true)),
        ];
        let (tagged, managed) = choose("kind of window", kind, &kinds)?;
        let (address, key) = (address.fit("the address of the window")?, key.fit("the key")?);
        let options = WindowOptions {
            address,
            key,
            threshold: threshold.fit("the threshold")?,
            counting: choose("counting", counting, &countings)?,
            tagged,
            managed,
            silent,
            spills,
            catch_all,
            event: events,
            context: handlers.map(|handlers| handlers.id(&self.core)).transpose()?,
            ..WindowOptions::default()
        };
        let window = py.detach(|| nic.open_window(&options))?;
        Ok(Window::new(&self.core, window, address, key))
    }

    /// Put bytes into a window of another node, as one message.
    ///
    /// Bytes in memory of this card are sent from where they lie and must stay as they are until the put is over. Other
    /// bytes are copied first. ``kind`` is that of the window; ``epoch`` names the buffer of a tagged one.
    #[pyo3(
        signature = (
            data, *, node, address, process = Number::from(0), key = Number::from(0), offset = Number::from(0),
            kind = "bound", epoch = None
        ),
        text_signature = "($self, data, *, node, address, process=0, key=0, offset=0, kind='bound', epoch=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "all but one are keywords")]
    fn put(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        node: Number,
        address: Number,
        process: Number,
        key: Number,
        offset: Number,
        kind: &str,
        epoch: Option<Number>,
    ) -> Result<Operation> {
        let kind = transfer::kind(kind, epoch)?;
        transfer::put(py, &self.core, data, &target(node, process, address, key, offset, kind)?)
    }

    /// The sender's end of a stream, which begins when the window is opened. A window has one sender.
    #[pyo3(
        signature = (*, node, address, process = Number::from(0), key = Number::from(0)),
        text_signature = "($self, *, node, address, process=0, key=0)"
    )]
    fn stream(&self, node: Number, address: Number, process: Number, key: Number) -> Result<Stream> {
        self.core.nic()?;
        Ok(Stream::new(&self.core, target(node, process, address, key, Number::from(0), Kind::Ordered(0))?))
    }

    /// Ask for bytes of the buffer that a window of another node completed last. They arrive in ``reply``.
    ///
    /// The memory of that buffer must exist as long as it is read. ``active``: of the oldest buffer that is not
    /// complete, in its present state.
    #[pyo3(
        signature = (
            length, *, node, address, reply, process = Number::from(0), key = Number::from(0), offset = Number::from(0),
            reply_offset = Number::from(0), active = false
        ),
        text_signature = "($self, length, *, node, address, reply, process=0, key=0, offset=0, reply_offset=0, active=False)"
    )]
    #[allow(clippy::too_many_arguments, reason = "all but one are keywords")]
    fn get(
        &self,
        py: Python<'_>,
        length: Number,
        node: Number,
        address: Number,
        reply: &Window,
        process: Number,
        key: Number,
        offset: Number,
        reply_offset: Number,
        active: bool,
    ) -> Result<Operation> {
        let nic = self.core.nic()?;
        check_owner(&self.core, reply)?;
        let source = target(node, process, address, key, offset, Kind::Bound)?;
        let length = length.fit("the length")?;
        let reply = reply.as_reply(reply_offset.fit("the offset of the answer")?);
        let get = |nic: &Nic, reply: &Reply| match active {
            true => nic.get_active(length, &source, reply),
            false => nic.get(length, &source, reply),
        };
        let op = py.detach(|| get(&nic, &reply))?;
        Ok(Operation::new(&self.core, op, "get", None))
    }

    /// Wait for the next event of the process: of handlers that it loaded, and of its windows.
    #[pyo3(signature = (timeout = None))]
    fn next_event<'py>(&self, py: Python<'py>, timeout: Option<Limit>) -> Result<Bound<'py, PyAny>> {
        let nic = self.core.nic()?;
        // Its process would end with this call, not with the card.
        let event = wait(py, &self.core, timeout, || nic.take_event());
        match event? {
            Some(event) => Ok(results::event(py, &event)?),
            None => Err(Failure::Timeout(format!("no event of the process came within {}", seconds(timeout)))),
        }
    }

    /// All counters of the card. A share of spindled has only some of the registers, and refuses this call.
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let (counters, mhz) = self.on_device(py, |device| Ok((device.counters()?, device.info().clock_mhz)))?;
        // Without the driver's lock: the collector of Python may give memory back meanwhile.
        Ok(results::stats(py, &self.address, mhz, &counters)?)
    }

    /// Enter the addresses of a node (``Node``), or take the node out. With ``icrc``, packets to the node have the ICRC, and those of it
    /// must have the ICRC; enter this card likewise at the node.
    #[pyo3(signature = (number, addresses, *, icrc = false))]
    fn set_node(&self, py: Python<'_>, number: Number, addresses: Option<Addresses>, icrc: bool) -> Result<()> {
        let nic = self.core.nic()?;
        let number = number.fit::<u16>("the number of the node")?;
        let node = addresses.map(|addresses| addresses.node()).transpose()?;
        match (node, icrc) {
            (Some(node), true) => Ok(py.detach(|| nic.node().set_checked_peer(number.into(), node, Icrc::BOTH))?),
            (None, true) => argument("a node that is taken out has no ICRC; leave icrc out"),
            (node, false) => Ok(py.detach(|| nic.node().set_peer(number.into(), node))?),
        }
    }

    /// Limit how long puts and gets of the card find no buffer, in the card's time; None is no limit.
    fn set_put_limit(&self, py: Python<'_>, nanoseconds: Option<Number>) -> Result<()> {
        let nic = self.core.nic()?;
        let limit = nanoseconds.map(|limit| limit.fit("the put limit")).transpose()?;
        Ok(py.detach(|| nic.set_put_limit(limit))?)
    }

    /// Have up to ``puts`` puts, 1 to 64, take turns, a segment each, so that a short put does not wait for the end of a long one.
    /// 1 after reset: puts to one node over one path arrive in their order.
    fn set_put_turns(&self, py: Python<'_>, puts: Number) -> Result<()> {
        let nic = self.core.nic()?;
        let puts = puts.fit("the number of puts")?;
        Ok(py.detach(|| nic.set_put_turns(puts))?)
    }

    /// Have the card obey the marks of switches: a window of segments in flight to each node, of ``first`` segments at first, between
    /// ``least`` and ``most``, from which a marked packet takes 2**-``shrink`` of a segment. ``on`` is False after reset.
    #[pyo3(signature = (on, *, shrink = None, least = None, first = None, most = None))]
    fn set_congestion_control(
        &self,
        py: Python<'_>,
        on: bool,
        shrink: Option<Number>,
        least: Option<Number>,
        first: Option<Number>,
        most: Option<Number>,
    ) -> Result<()> {
        let nic = self.core.nic()?;
        let usual = Congestion::default();
        let window = |window: Option<Number>, usual| window.map_or(Ok(usual), |number| number.fit("a window"));
        let congestion = Congestion {
            shrink: shrink.map_or(Ok(usual.shrink), |number| number.fit("shrink"))?,
            least: window(least, usual.least)?,
            first: window(first, usual.first)?,
            most: window(most, usual.most)?,
        };
        Ok(py.detach(|| nic.set_congestion_control(on.then_some(congestion)))?)
    }

    /// End contexts and windows, take the memory back from the card, and leave the card. Views of memory stay valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.core.close());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        match self.process() {
            Ok(process) => format!("<spindle.Card {}, process {process}>", self.address),
            Err(_) => format!("<spindle.Card {}, closed>", self.address),
        }
    }
}
