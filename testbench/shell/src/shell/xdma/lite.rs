//! Registers of interrupts: the vector map and the mask.

use super::Xdma;
use spindle_contract::pci::{xdma, VECTORS};
use spindle_harness::Model;

impl Xdma {
    pub(super) fn drive_lite(&mut self, model: &mut Model) {
        self.lite_ready = self.chance();
        let lite = self.lite;
        let free = |answer: Option<u32>| self.lite_ready && answer.is_none();
        // Address and data of a write are taken together.
        let writes = free(self.lite_answer[0]) && model.is_set(lite.awvalid) && model.is_set(lite.wvalid);
        model.set(lite.awready, writes.into());
        model.set(lite.wready, writes.into());
        model.set(lite.arready, free(self.lite_answer[1]).into());
        model.set(lite.bvalid, self.lite_answer[0].is_some().into());
        model.set(lite.bresp, self.lite_answer[0].unwrap_or(0).into());
        model.set(lite.rvalid, self.lite_answer[1].is_some().into());
        model.set(lite.rdata, self.lite_answer[1].unwrap_or(0).into());
        model.set(lite.rresp, 0);
    }

    pub(super) fn sample_lite(&mut self, model: &Model) {
        let lite = self.lite;
        let moves = |valid, ready| model.is_set(valid) && model.is_set(ready);
        if moves(lite.bvalid, lite.bready) {
            self.lite_answer[0] = None;
        }
        if moves(lite.rvalid, lite.rready) {
            self.lite_answer[1] = None;
        }
        if moves(lite.awvalid, lite.awready) && moves(lite.wvalid, lite.wready) {
            let (address, word) = (model.get(lite.awaddr) as u32, model.get(lite.wdata) as u32);
            assert_eq!(model.get(lite.wstrb), 0xF, "the registers of the bridge are written as words");
            match address.wrapping_sub(xdma::IRQ_BLOCK) {
                xdma::IRQ_MASK => self.mask = word as u16,
                at if (xdma::IRQ_VECTORS..xdma::IRQ_VECTORS + VECTORS as u32).contains(&at) => {
                    let first = (at - xdma::IRQ_VECTORS) as usize;
                    for (i, byte) in word.to_le_bytes().into_iter().enumerate() {
                        self.map[first + i] = byte & 0x1F;
                    }
                }
                _ => panic!("a write of {address:#x}, which is no register of interrupts"),
            }
            self.lite_answer[0] = Some(0);
        }
        if moves(lite.arvalid, lite.arready) {
            let address = model.get(lite.araddr) as u32;
            let word = match address.wrapping_sub(xdma::IRQ_BLOCK) {
                xdma::IRQ_MASK => self.mask.into(),
                at if (xdma::IRQ_VECTORS..xdma::IRQ_VECTORS + VECTORS as u32).contains(&at) => {
                    let first = (at - xdma::IRQ_VECTORS) as usize;
                    u32::from_le_bytes(self.map[first..first + 4].try_into().expect("four vectors"))
                }
                _ => panic!("a read of {address:#x}, which is no register of interrupts"),
            };
            self.lite_answer[1] = Some(word);
        }
    }
}
