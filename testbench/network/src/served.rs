//! NICs that are served: each is a PCI function at a socket, as of `spindle serve`, whose time the network keeps.
//!
//! With [`Time::Step`] the time of a NIC moves by what its client demands, as of a card in the client's process. The network waits for
//! each client in turn, so cycles do not depend on the speed of clients and machines. A NIC whose clients have left moves by itself.
//! With [`Time::Free`] all NICs move by themselves, from the first client on, as fast as the machine can.

use anyhow::{Context, Result};
use serde::Deserialize;
use spindle_sim::serve::control::path_of;
use spindle_sim::serve::wire::Wire;
use spindle_sim::serve::{Clients, HostPauses, NicServer, Sockets, TimeMode};
use spindle_sim::{SentFrame, SimDevice, WireFrame};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What stands for the number of a node in a pattern of sockets.
pub const NODE: &str = "{node}";
/// Longest wait for a socket while the NIC's time stands still.
const WAIT: Duration = Duration::from_millis(50);
/// Cycles between two looks at the sockets.
const LOOK_EVERY: u64 = 8;

/// What moves the time of served NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// The network runs on while clients compute.
    Free,
    /// Time stands still while a client does not wait for its NIC.
    Step,
}

/// How the nodes of a study are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Folder of the sockets, or a pattern with [`NODE`] in it.
    pub sockets: String,
    /// What moves time.
    pub time: Time,
    /// File and line of the study that name the sockets.
    pub place: String,
}

impl Serving {
    /// The socket of a node.
    pub fn socket(&self, node: usize) -> PathBuf {
        match self.sockets.contains(NODE) {
            true => self.sockets.replace(NODE, &node.to_string()).into(),
            false => PathBuf::from(&self.sockets).join(format!("nic{node}.sock")),
        }
    }
}

/// Sockets of this process, for [`remove_sockets`].
static LISTENING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the sockets of a process that is about to end without an end of its network.
pub fn remove_sockets() {
    for socket in LISTENING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_file(path_of(&socket));
        let _ = std::fs::remove_file(socket);
    }
}

/// Frames that the server has taken from the NIC, until the network takes them.
pub type Taken = Arc<Mutex<Vec<SentFrame>>>;

/// The wire of a served NIC: frames of the network come by their cycles, not here.
struct Outlet(Taken);

impl Wire for Outlet {
    fn send(&mut self, frame: SentFrame) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<WireFrame>> {
        Ok(None)
    }
}

/// The sockets of a node, before its NIC is there.
pub struct Listening {
    sockets: Sockets,
    time: Time,
}

impl Listening {
    /// Listens.
    ///
    /// # Errors
    /// A sentence with the study's file and line: another program has the socket, or the folder is missing.
    pub fn bind(serving: &Serving, node: usize) -> Result<Listening> {
        let (socket, place) = (serving.socket(node), &serving.place);
        let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            anyhow::bail!("{place}: there is no folder {} for the socket of node {node}; make it", folder.display());
        }
        let sockets = Sockets::bind(&socket).with_context(|| format!("{place}: node {node} cannot be served"))?;
        LISTENING.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        Ok(Listening { sockets, time: serving.time })
    }

    /// Serves a NIC. Its client pauses before accesses as `pauses` says.
    pub fn serve(self, card: SimDevice, pauses: Option<HostPauses>) -> (Served, Taken) {
        let taken = Taken::default();
        let mode = match self.time {
            Time::Free => TimeMode::Free,
            Time::Step => TimeMode::Step,
        };
        let mut server = self.sockets.serve(card, Box::new(Outlet(taken.clone())), mode, false);
        server.function().set_pauses(pauses);
        let clients = server.function().clients();
        (Served { server, time: self.time, clients, begun: Arc::default() }, taken)
    }
}

/// A NIC that is served.
pub struct Served {
    server: NicServer,
    time: Time,
    clients: Arc<Mutex<Clients>>,
    begun: Arc<AtomicBool>,
}

/// What the network knows of a served NIC.
#[derive(Clone)]
pub struct Watched {
    clients: Arc<Mutex<Clients>>,
    begun: Arc<AtomicBool>,
    time: Time,
}

impl Watched {
    /// Who has used the NIC.
    pub fn clients(&self) -> Clients {
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the NIC has a reason to begin: a client, or time that clients move.
    pub fn ready(&self) -> bool {
        self.time == Time::Step || self.clients().came > 0
    }

    /// Time of the network begins.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }
}

impl Served {
    /// What the network is to know.
    pub fn watched(&self) -> Watched {
        Watched { clients: self.clients.clone(), begun: self.begun.clone(), time: self.time }
    }

    /// Whether the NIC's time moves without an access.
    fn moves(&self) -> bool {
        let Clients { came, here, .. } = self.watched().clients();
        match self.time {
            Time::Free => self.begun.load(Ordering::Relaxed),
            Time::Step => came > 0 && !here,
        }
    }

    /// Serves until `stop` is readable.
    ///
    /// # Errors
    /// The sockets cannot be waited for.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> Result<()> {
        let failed = "the sockets of a served NIC have failed";
        while !self.server.look(stop, if self.moves() { Duration::ZERO } else { WAIT }).context(failed)? {
            if self.moves() {
                self.server.function().run(LOOK_EVERY);
            }
        }
        Ok(())
    }

    /// The NIC.
    pub fn card(&mut self) -> &mut SimDevice {
        self.server.function().sim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_lie_in_a_folder_or_have_a_pattern() {
        let serving = |sockets: &str| Serving { sockets: sockets.into(), time: Time::Step, place: "a.toml:1".into() };
        assert_eq!(serving("/run/x").socket(12), PathBuf::from("/run/x/nic12.sock"));
        assert_eq!(serving("cards/{node}/nic").socket(3), PathBuf::from("cards/3/nic"));
    }

    #[test]
    fn sockets_that_cannot_be_are_refused_with_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let serving = |sockets: PathBuf| Serving {
            sockets: sockets.display().to_string(),
            time: Time::Free,
            place: "a.toml:7".into(),
        };
        let words = |serving: &Serving| {
            let error = Listening::bind(serving, 1).map(drop).unwrap_err();
            format!("{error:#}")
        };
        let missing = words(&serving(folder.path().join("absent")));
        assert!(missing.starts_with("a.toml:7: there is no folder ") && missing.contains("node 1"), "{missing}");
        let here = serving(folder.path().into());
        let listening = Listening::bind(&here, 1).unwrap();
        let taken = words(&here);
        assert!(taken.starts_with("a.toml:7: node 1 cannot be served") && taken.contains("another server"), "{taken}");
        drop(listening);
        assert!(!here.socket(1).exists() && !path_of(&here.socket(1)).exists());
        let long = words(&serving(folder.path().join(format!("{}{{node}}", "x".repeat(200)))));
        assert!(long.starts_with("a.toml:7: ") && long.contains("107 bytes"), "{long}");
        assert!(!long.contains('\n'), "{long}");
    }
}
