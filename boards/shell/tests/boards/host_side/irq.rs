//! Interrupts and the vector map against models of the XDMA.

use rand::Rng;
use spindle_boards::hdl::irq::IrqBridge;
use spindle_boards::hdl::irq_init::IrqInit;
use spindle_contract::pci::{xdma, VECTORS};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::HashMap;

/// The NIC, whose causes come at random, and an XDMA that acknowledges late: after every cause there is a message that
/// was sent later, and never more messages than causes plus those that MSI-X withdrew.
#[test]
fn no_cause_is_without_a_message() {
    for stretch in [1u64, 2] {
        run_with_wave_on_failure(&format!("irq_bridge_{stretch}"), |wave| {
            let mut rng = wave.rng();
            let dut = Dut::new(wave, IrqBridge::new(stretch, 4), &format!("irq_bridge_{stretch}"));
            let mut requested = 0u64;
            let mut causes = [0u64; VECTORS];
            let mut messages = [0u64; VECTORS];
            // A cause that no message has followed yet.
            let mut unserved = [false; VECTORS];
            let (mut enabled, mut asked_before, mut acked_before) = (true, 0u64, 0u64);
            let mut since_ack = [1000u64; VECTORS];
            let mut withdrawn = 0;
            for cycle in 0..40_000u64 {
                let quiet = cycle > 38_000;
                let storm = cycle / 2000 % 3;
                if rng.random_range(0..400) == 0 {
                    enabled = !enabled;
                }
                enabled |= quiet;
                dut.msix_enable.set(enabled);
                dut.request.set(requested);
                let asked = dut.usr_irq_req.number();
                // The request stands until its acknowledgement, or until MSI-X is off.
                let fell = asked_before & !asked;
                assert_eq!(fell & !acked_before, 0, "cycle {cycle}: a request fell alone");
                let mut acks = 0;
                for (i, since) in since_ack.iter_mut().enumerate() {
                    *since += 1;
                    if asked >> i & 1 == 1 {
                        assert!(*since > 16, "vector {i} is requested {since} cycles after its acknowledgement");
                        if rng.random_range(0..30) == 0 {
                            acks |= 1 << i;
                            *since = 0;
                        }
                    }
                }
                // Acknowledgements that no request waits for have no effect.
                let stray = if rng.random_range(0..10) == 0 { !asked & rng.random::<u64>() & 0xFFFF } else { 0 };
                dut.usr_irq_ack.set(acks | stray);
                dut.eval();
                for i in (0..VECTORS).filter(|i| acks >> i & 1 == 1) {
                    messages[i] += 1;
                }
                // A core edge: with every cycle, or with every second.
                let taken = dut.acknowledge.number();
                if cycle % stretch == stretch - 1 {
                    assert_eq!(taken & !requested, 0, "cycle {cycle}: acknowledged without a request");
                    // A message that follows the taking serves what came before.
                    for i in (0..VECTORS).filter(|i| taken >> i & 1 == 1) {
                        unserved[i] = false;
                    }
                    requested &= !taken;
                    if !quiet {
                        for i in 0..VECTORS {
                            if rng.random_range(0..[300, 3, 60][storm as usize]) == 0 {
                                causes[i] += 1;
                                unserved[i] = true;
                                requested |= 1 << i;
                            }
                        }
                    }
                }
                // What was taken is pending until the message has left.
                let pending = dut.pending.number();
                assert_eq!(asked & !pending, 0);
                withdrawn += u64::from(!enabled && pending != 0);
                acked_before = acks | if enabled { 0 } else { 0xFFFF };
                asked_before = asked;
                dut.tick();
            }
            assert_eq!((requested, dut.pending.number()), (0, 0), "all causes were taken and sent");
            for i in 0..VECTORS {
                assert!(!unserved[i] && messages[i] > 100 && messages[i] <= causes[i], "{i}: {messages:?} {causes:?}");
            }
            assert!(withdrawn > 1000, "{withdrawn}");
        });
    }
}

/// The figures of the module text.
#[test]
fn timing() {
    run_with_wave_on_failure("irq_timing", |wave| {
        let dut = Dut::new(wave, IrqBridge::default(), "irq_bridge_1");
        let mut rests = vec![];
        for round in 0..40 {
            dut.msix_enable.set(true);
            dut.request.set(4);
            dut.ticks(round % 7);
            let mut cycles = 0;
            while dut.usr_irq_req.number() == 0 {
                dut.tick();
                cycles += 1;
                assert!(cycles < 50);
                dut.eval();
            }
            dut.ticks(40);
            assert_eq!((dut.usr_irq_req.number(), dut.pending.number()), (4, 4));
            dut.usr_irq_ack.set(4);
            dut.tick();
            dut.usr_irq_ack.set(0);
            dut.eval();
            assert_eq!((dut.usr_irq_req.number(), dut.pending.number()), (0, 0));
            let mut rest = 1;
            while dut.usr_irq_req.number() == 0 {
                dut.tick();
                rest += 1;
                dut.eval();
            }
            rests.push(rest);
            // A vector that has rested: one cycle.
            dut.request.set(0);
            dut.usr_irq_ack.set(4);
            dut.tick();
            dut.usr_irq_ack.set(0);
            dut.ticks(40);
            dut.request.set(4);
            dut.eval();
            assert_eq!((dut.acknowledge.number(), dut.usr_irq_req.number()), (0, 0));
            dut.tick();
            dut.eval();
            assert_eq!((dut.acknowledge.number(), dut.usr_irq_req.number()), (4, 4));
            dut.usr_irq_ack.set(4);
            dut.tick();
            dut.usr_irq_ack.set(0);
            dut.request.set(0);
            dut.ticks(40);
        }
        let (least, most) = (rests.iter().min().unwrap(), rests.iter().max().unwrap());
        assert!(*least >= 18 && *most <= 34, "{least} to {most}");
    });
}

/// What an XDMA does with the accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    Good,
    /// Answers the n-th access with an error.
    Error(u64),
    /// Loses the bits of a written word.
    Forgets,
    /// Never answers the n-th access.
    Silent(u64),
}

#[test]
fn the_vector_map_is_written_and_read_back() {
    run_with_wave_on_failure("irq_init", |wave| {
        let mut rng = wave.rng();
        let manners =
            [Manner::Good, Manner::Error(0), Manner::Error(7), Manner::Forgets, Manner::Silent(2), Manner::Silent(6)];
        for (round, manner) in manners.into_iter().cycle().take(18).enumerate() {
            let dut = Dut::new(wave, IrqInit::default(), "irq_init");
            let pcie = &dut.pcie;
            let mut registers: HashMap<u64, u64> = HashMap::new();
            let (mut address, mut data): (Option<u64>, Option<u64>) = Default::default();
            let mut due: Option<(u64, bool, u64)> = None;
            let (mut accesses, mut writes) = (0, 0);
            for _ in 0..6000 {
                let ready = |rng: &mut rand_chacha::ChaCha8Rng| round < 6 || rng.random_bool(0.5);
                let free = due.is_none();
                pcie.awready.set(free && address.is_none() && ready(&mut rng));
                pcie.wready.set(free && data.is_none() && ready(&mut rng));
                pcie.arready.set(free && ready(&mut rng));
                let silent = matches!(manner, Manner::Silent(n) if n + 1 == accesses);
                let now = due.filter(|due| due.0 == 0 && !silent);
                let response = if matches!(manner, Manner::Error(n) if n + 1 == accesses) { 2 } else { 0 };
                pcie.bvalid.set(now.is_some_and(|due| due.1));
                pcie.rvalid.set(now.is_some_and(|due| !due.1));
                pcie.rdata.set(now.map_or(0, |due| due.2));
                pcie.bresp.set(response);
                pcie.rresp.set(response);
                dut.eval();
                due = due.filter(|_| now.is_none()).map(|due| (due.0.saturating_sub(1), due.1, due.2));
                if pcie.awvalid.is_high() && free && address.is_none() && pcie.awready.number() == 1 {
                    address = Some(pcie.awaddr.number());
                }
                if pcie.wvalid.is_high() && free && data.is_none() && pcie.wready.number() == 1 {
                    assert_eq!(pcie.wstrb.number(), 15);
                    data = Some(pcie.wdata.number());
                }
                if let (Some(at), Some(word)) = (address, data) {
                    registers.insert(at, if manner == Manner::Forgets { word & !0x100 } else { word });
                    (address, data, due) = (None, None, Some((rng.random_range(0..5), true, 0)));
                    accesses += 1;
                    writes += 1;
                }
                if pcie.arvalid.is_high() && free && pcie.arready.number() == 1 {
                    let word = registers.get(&pcie.araddr.number()).copied().unwrap_or(0);
                    due = Some((rng.random_range(0..5), false, word));
                    accesses += 1;
                }
                dut.tick();
            }
            dut.eval();
            let good = manner == Manner::Good;
            assert_eq!((dut.mapped.is_high(), dut.failed.is_high()), (good, !good), "{manner:?}");
            if let Manner::Silent(n) = manner {
                assert_eq!(accesses, n + 1);
                continue;
            }
            assert_eq!((accesses, writes), (10, 5), "{manner:?}");
            if manner != Manner::Forgets {
                let base = u64::from(xdma::IRQ_BLOCK);
                for i in 0..VECTORS as u64 {
                    let word = registers[&(base + u64::from(xdma::IRQ_VECTORS) + i / 4 * 4)];
                    assert_eq!(word >> (8 * (i % 4)) & 0xFF, i, "vector of interrupt {i}");
                }
                assert_eq!(registers[&(base + u64::from(xdma::IRQ_MASK))], 0xFFFF);
                assert_eq!(registers.len(), 5);
            }
        }
    });
}
