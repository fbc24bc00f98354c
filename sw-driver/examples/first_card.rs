//! A handler on a card, and a buffer that the card fills: `cargo run -p spindle --example first_card ADDRESS IMAGE.elf`.

use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{ContextOptions, Device, HostMemory, Image};
use std::error::Error;

/// Cycles of the card within which the buffer must be full.
const PATIENCE: u64 = 100_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, path] = &arguments[..] else {
        return Err(
            "give the address of a card and an image: first_card unix:/run/spindle/nic0.sock ping_pong.elf".into()
        );
    };
    let card = spindle::transport::open(address)?;
    let mut device = Device::open(card.clone(), card)?;
    println!("{} HPUs, {} contexts", device.info().total_hpus(), device.info().contexts);

    // Handlers run on the packets of a rule.
    let image = Image::parse(&std::fs::read(path)?)?;
    let context = device.install(&image, &ContextOptions::default())?;
    device.add_rule(&"udp.dport == 9000".parse()?, Action::Context(context))?;
    device.activate(context)?;

    // A window of process 0: 4096 bytes that senders put to address 0x77 complete a buffer.
    device.add_rule(&"spindle".parse()?, Action::Mailbox)?;
    let options = WindowOptions { address: 0x77, threshold: 4096, ..WindowOptions::default() };
    let window = device.open_window(0, &options)?;
    let posted = device.post_buffer(window, 4096)?;
    device.set_receive(true)?;

    let completed = device.wait(&posted, PATIENCE)?;
    let mut bytes = vec![0; completed.length as usize];
    device.memory.read(posted.buffer, &mut bytes)?;
    println!("{} bytes have arrived, the first is {:#04x}", bytes.len(), bytes[0]);
    device.close_window(window)?;
    Ok(())
}
