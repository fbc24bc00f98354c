//! The blocks of `rtl/nic/src`, each alone.

mod global_page;
mod host_gate;
mod interrupts;
mod reset_control;
mod trace_ring;

use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_harness::random_bits;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::In;

/// The register slave as a page sees it: an access stands until its answer, which comes one cycle after the access is seen. The
/// answers of all pages are OR-ed, so an answer is zero in any other cycle.
#[derive(Default)]
struct Slave {
    request: Option<CsrRequest>,
    /// Answer of this cycle: error, and the word of a read.
    due: Option<(bool, Option<u64>)>,
}

impl Slave {
    /// Sets the request of this cycle: the one that stands, else `next`; without one, anything that is not valid.
    fn request(&mut self, rng: &mut ChaCha8Rng, port: &Wire<In, CsrRequest>, next: Option<CsrRequest>) {
        self.request = self.request.or(next);
        let idle = CsrRequest { valid: false, ..random_bits(rng) };
        port.set(self.request.unwrap_or(idle));
    }

    /// Checks the answer of this cycle; returns the access that is seen in it.
    fn seen(&mut self, answer: CsrResponse) -> Option<CsrRequest> {
        let Some((error, word)) = self.due.take() else {
            assert_eq!(answer, CsrResponse::default());
            return self.request;
        };
        let request = self.request.take();
        assert_eq!((answer.ack, answer.error), (true, error), "{request:x?}");
        if let Some(word) = word {
            assert_eq!(answer.rdata.to_u64(), word, "{request:x?}");
        }
        None
    }
}
