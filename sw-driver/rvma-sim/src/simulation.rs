//! A network of simulated NICs in a thread of its own.

use crate::card::SimulatedCard;
use anyhow::Context;
use spindle::{Error, Result};
use spindle_contract::params::Config;
use spindle_harness::{Progress, Source};
use spindle_sim::{Network, Options, SimDevice, WireOptions};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of a node number that give its addresses.
const MOST_NODES: u32 = 256;

type Job = Box<dyn FnOnce(&Network) + Send>;

/// A network of simulated NICs. Its time moves in calls only, of any of its cards.
pub struct Simulation {
    config: Config,
    source: Source,
    jobs: Mutex<Sender<Job>>,
}

/// The text of the NIC.
fn source(config: &Config) -> anyhow::Result<Source> {
    let design = spindle_nic::emit(config)?;
    let files = design.modules.into_iter().map(|module| (format!("{}.sv", module.name), module.text)).collect();
    Ok(Source::new(design.top, files))
}

fn failed(error: anyhow::Error) -> Error {
    Error::Plugin(format!("the card cannot be simulated: {error:#}"))
}

impl Simulation {
    /// A network of so many NICs, numbered from 0.
    ///
    /// # Errors
    /// The model cannot be built.
    pub fn new(config: Config, wire: WireOptions, nodes: usize) -> Result<Arc<Simulation>> {
        let source = source(&config).map_err(failed)?;
        // The first program on a machine waits for minutes; its user sees why.
        spindle_sim::model(&source, &Progress::stderr("rvma")).map_err(failed)?;
        let (jobs, work) = channel();
        let (ready, opened) = channel();
        let parts = (source.clone(), config);
        let run = move || {
            let cards = (0..nodes as u64).map(|seed| device(&parts.0, &parts.1, seed)).collect::<anyhow::Result<_>>();
            let network = cards.map(|cards| Network::new(cards, wire));
            match network {
                Ok(network) => {
                    let _ = ready.send(Ok(()));
                    serve(&network, &work);
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        };
        let thread = std::thread::Builder::new().name("simulation".into()).spawn(run);
        thread.context("its thread cannot be started").map_err(failed)?;
        let opened = opened.recv().context("its thread ended").map_err(failed)?;
        opened.map_err(failed)?;
        Ok(Arc::new(Simulation { config, source, jobs: Mutex::new(jobs) }))
    }

    /// The NIC of this number.
    pub fn card(self: &Arc<Self>, number: usize) -> SimulatedCard {
        SimulatedCard::new(self.clone(), self.config.name, number)
    }

    /// Joins a NIC of this number.
    ///
    /// # Errors
    /// The network has the number already, or no place for it.
    pub fn add(self: &Arc<Self>, number: u32) -> Result<SimulatedCard> {
        if number >= MOST_NODES {
            return Err(Error::Argument(format!("there is no node {number}; a network has 0 to {}", MOST_NODES - 1)));
        }
        let (source, config) = (self.source.clone(), self.config);
        let place = self.call(move |network| {
            if network.has(number as usize) {
                return Err(Error::Busy {
                    address: format!("{}{}, node {number}", crate::SCHEME, config.name),
                    owner: "this program, which opened the node before".into(),
                });
            }
            let card = device(&source, &config, number.into()).map_err(failed)?;
            let place = network.nodes();
            network.add(card, number as usize);
            Ok(place)
        })??;
        Ok(self.card(place))
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// The simulation has failed.
    pub fn run(&self, cycles: u64) -> Result<()> {
        self.call(move |network| network.run(cycles))
    }

    /// Runs a call on the network, in its thread.
    pub(crate) fn call<T: Send + 'static>(&self, call: impl FnOnce(&Network) -> T + Send + 'static) -> Result<T> {
        let gone = || Error::Gone {
            address: format!("{}{}", crate::SCHEME, self.config.name),
            why: "the simulation failed; the reason is on standard error".into(),
        };
        let (result, done) = channel();
        let job: Job = Box::new(move |network| {
            let _ = result.send(call(network));
        });
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(job).map_err(|_| gone())?;
        done.recv().map_err(|_| gone())
    }
}

fn device(source: &Source, config: &Config, seed: u64) -> anyhow::Result<SimDevice> {
    let mut device = SimDevice::new(source, config, Options { seed, ..Options::default() })?;
    device.set_tracing(false);
    Ok(device)
}

/// Runs calls until the last card of the network is closed.
fn serve(network: &Network, work: &Receiver<Job>) {
    while let Ok(job) = work.recv() {
        job(network);
    }
}
