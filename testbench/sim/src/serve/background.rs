//! A served card in a thread of this program.

use super::{NicServer, ServeOptions};
use anyhow::{Context, Result};
use spindle::SharedCard;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// A served card of this process. Its thread ends with it.
pub struct Background {
    /// Address by which drivers open it.
    pub address: String,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Background {
    /// Serves a card.
    ///
    /// # Errors
    /// As for [`NicServer::open`].
    pub fn start(options: ServeOptions) -> Result<Background> {
        let (stop, stopped) = UnixStream::pair().context("cannot make a pair of sockets")?;
        let address = format!("unix:{}", options.socket.display());
        let mut server = NicServer::open(&options)?;
        let thread = std::thread::spawn(move || server.run(stopped.as_fd()));
        Ok(Background { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Opens the card.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn card(&self) -> Result<SharedCard> {
        Ok(spindle::transport::open(&self.address)?)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            log::error!("the server of {} has failed: {error:#}", self.address);
        }
    }
}
