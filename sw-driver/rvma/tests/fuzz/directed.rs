//! What fuzzing has found, one test each.

use crate::c::*;
use crate::card::network;
use spindle_contract::memory_map::{base, CODE};
use spindle_fuzz::Program;
use spindle_rvma::add_network;
use std::ffi::CStr;

fn reason() -> String {
    // SAFETY: the sentence stays as long as the thread.
    unsafe { CStr::from_ptr(RVMA_Error()) }.to_string_lossy().into_owned()
}

/// Times were multiplied without a bound.
#[test]
fn a_round_trip_may_be_of_any_length() {
    let (session, _) = network(u64::MAX);
    // SAFETY: handles are not followed.
    assert_eq!(unsafe { RVMA_Shutdown(add_network(session) as usize) }, 0);
}

/// A size that no memory has ended the program.
#[test]
fn sizes_that_no_memory_has_are_arguments() {
    let (session, _) = network(2000);
    let network = add_network(session) as usize;
    let program = Program {
        code: (base(CODE), vec![0x13, 0, 0, 0]),
        globals: vec![(base(CODE), "header_handler".into())],
        ..Program::default()
    };
    let image = program.file();
    // SAFETY: handles are not followed; a size that no memory has is refused.
    unsafe {
        let nic = RVMA_Open_node(network, 0, 1);
        assert!(SPIN_Load(nic, image.as_ptr().cast(), usize::MAX, std::ptr::null()) == 0);
        assert!(reason().contains("bytes"), "{}", reason());
        let context = SPIN_Load(nic, image.as_ptr().cast(), image.len(), std::ptr::null());
        assert_ne!(context, 0, "{}", reason());
        let mut bytes = [0u8; 8];
        for size in [usize::MAX, isize::MAX as usize + 1] {
            assert_eq!(SPIN_Read_state(context, 0, bytes.as_mut_ptr().cast(), size), -1);
            assert_eq!(SPIN_Write_state(context, 0, bytes.as_ptr().cast(), size), -1);
        }
        assert_eq!(RVMA_Shutdown(network), 0);
    }
}

/// A stock took as many buffers as the number said, however many the card has.
#[test]
fn a_stock_has_no_more_buffers_than_the_card() {
    let (session, _) = network(2000);
    let network = add_network(session) as usize;
    // SAFETY: handles are not followed.
    unsafe {
        let nic = RVMA_Open_node(network, 0, 1);
        let window = RVMA_Init_window(nic, 1, 1, 64, 0);
        assert_eq!(RVMA_Stock_new(window, i32::MAX, 1), 0);
        assert!(reason().contains("posted"), "{}", reason());
        assert_eq!(RVMA_Shutdown(network), 0);
    }
}

/// The longest path of a wire was a product that did not fit.
#[test]
fn a_wire_that_takes_for_ever_is_refused() {
    let wire = Wire { loss: 0.0, duplication: 0.0, paths: u32::MAX, latency: 1, step: u32::MAX, seed: 1 };
    // SAFETY: the wire lives as long as the call.
    assert_eq!(unsafe { RVMA_Simulate(2, &wire) }, 0);
    assert!(reason().contains("path"), "{}", reason());
}
