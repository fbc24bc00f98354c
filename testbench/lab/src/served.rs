//! The end of the demo: a NIC that other programs reach, for as long as the user wants.

use anyhow::{ensure, Context, Result};
use spindle::resident::{Effect, ResidentRule};
use spindle::{ContextOptions, Device};
use spindle_contract::params::Config;
use spindle_sdk::Shipped;
use spindle_sim::serve::{Background, ServeOptions};
use std::io::IsTerminal;
use std::path::Path;

/// Serves a NIC with a handler, has a driver look at it through the socket, and, if there is a user, waits for the user.
pub fn serve(folder: &Path, config: Config) -> Result<()> {
    let socket = std::path::absolute(folder.join("nic.sock")).context("the folder has no path")?;
    let served = Background::start(ServeOptions { config, keep: true, ..ServeOptions::at(&socket) })?;
    load(&served)?;
    let card = served.card()?;
    let found = Device::attach(card.clone(), card)?.residents().len();
    ensure!(found == 1, "the served NIC has {found} handlers in place of one");
    println!("      {} has the handler ping_pong", served.address);
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        println!("Other programs reach the NIC now. In another terminal:");
        println!("    export SPINDLE_CARD={}", served.address);
        for command in ["info", "stats", "load icmp_echo", "top"] {
            println!("    spindle {command}");
        }
        println!("Press Enter to end.");
        // Ctrl-C ends the program too; the next server replaces the socket.
        std::io::stdin().read_line(&mut String::new()).context("cannot read the terminal")?;
    }
    drop(served);
    ensure!(!socket.exists(), "the server has left its socket {}", socket.display());
    Ok(())
}

/// Loads a handler that stays, as `spindle load` does.
fn load(served: &Background) -> Result<()> {
    let shipped = Shipped::by_name("ping_pong").expect("ping_pong comes with this program");
    let handler = shipped.load()?;
    let card = served.card()?;
    let mut device = Device::attach(card.clone(), card)?;
    let rule = |context| vec![ResidentRule { rule: shipped.rule.into(), effect: Effect::Packets(context) }];
    device.load_resident("ping_pong", &handler.image, &ContextOptions::default(), rule)?;
    Ok(device.set_receive(true)?)
}
