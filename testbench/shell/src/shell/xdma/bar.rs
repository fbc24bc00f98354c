//! Accesses of the host to the BAR: one at a time, a beat of 32 bits.

use super::{Access, Xdma};
use spindle_harness::Model;

impl Xdma {
    pub(super) fn drive_bar(&mut self, model: &mut Model) {
        let bar = self.bar;
        let (asks, gives) = (self.asks && self.link, self.gives && self.link);
        let id = 5;
        let valid = match self.access {
            Some(Access::Write { address, value }) if asks || gives => {
                model.set(bar.awid, id);
                model.set(bar.awaddr, address);
                model.set(bar.awlen, 0);
                model.set(bar.awsize, 2);
                model.set(bar.awburst, 1);
                let lane = (address as usize % self.beat) & !3;
                let mut data = vec![0xEE; self.beat];
                data[lane..lane + 4].copy_from_slice(&value.to_le_bytes());
                model.set_bytes(bar.wdata, &data);
                model.set(bar.wstrb, 0xF << lane);
                model.set(bar.wlast, 1);
                (asks, gives, false)
            }
            Some(Access::Read { address }) if asks => {
                model.set(bar.arid, id);
                model.set(bar.araddr, address);
                model.set(bar.arlen, 0);
                model.set(bar.arsize, 2);
                model.set(bar.arburst, 1);
                (false, false, true)
            }
            _ => (false, false, false),
        };
        model.set(bar.awvalid, valid.0.into());
        model.set(bar.wvalid, valid.1.into());
        model.set(bar.arvalid, valid.2.into());
        model.set(bar.bready, self.link.into());
        model.set(bar.rready, self.link.into());
    }

    pub(super) fn sample_bar(&mut self, model: &Model) {
        let bar = self.bar;
        let moves = |valid, ready| model.is_set(valid) && model.is_set(ready);
        if moves(bar.awvalid, bar.awready) || moves(bar.arvalid, bar.arready) {
            self.asks = false;
        }
        if moves(bar.wvalid, bar.wready) {
            self.gives = false;
        }
        if moves(bar.bvalid, bar.bready) {
            assert!(!self.asks && !self.gives, "an answer before the access was taken");
            assert_eq!(model.get(bar.bid), 5);
            self.answer = Some((model.get(bar.bresp), 0));
        }
        if moves(bar.rvalid, bar.rready) {
            assert_eq!((model.get(bar.rid), model.is_set(bar.rlast), self.asks), (5, true, false));
            let Some(Access::Read { address }) = self.access else { panic!("data without a read") };
            let lane = (address as usize % self.beat) & !3;
            let word: [u8; 4] = model.get_bytes(bar.rdata)[lane..lane + 4].try_into().expect("four bytes");
            self.answer = Some((model.get(bar.rresp), u32::from_le_bytes(word)));
        }
    }
}
