//! Calls that stand for assignments: `load`, `offer`, `write`, `read`.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

/// One word of memory with the ports of a memory: the short forms go by the names of ports.
#[block]
struct Word {
    write_enable: Signal<In, Bit>,
    write_address: Signal<In, Bits<3>>,
    write_data: Signal<In, Bits<8>>,
    read_enable: Signal<In, Bit>,
    read_address: Signal<In, Bits<3>>,
    read_data: Signal<Out, Bits<8>>,
    address: DFF<Bits<3>>,
    word: Reg<Bits<8>>,
    fetched: Reg<Bits<8>>,
}

impl Word {
    fn write(&mut self, enable: Bit, address: Bits<3>, data: Bits<8>) {
        self.write_enable.next = enable;
        self.write_address.next = address;
        self.write_data.next = data;
    }

    fn read(&mut self, enable: Bit, address: Bits<3>) {
        self.read_enable.next = enable;
        self.read_address.next = address;
    }
}

#[hdl]
impl Word {
    fn update(&mut self) {
        self.address.load(self.write_enable.val(), self.write_address.val());
        self.word.load(self.write_enable.val(), self.write_data.val());
        let word = if self.read_address.val() == self.address.q.val() { self.word.q.val() } else { bits::<8>(0) };
        self.fetched.load(self.read_enable.val(), word);
        self.read_data.next = self.fetched.q.val();
    }
}

/// Every short form, on parts, on elements of arrays, under conditions and in loops.
#[block]
struct Forms {
    start: Signal<In, Bit>,
    data: Signal<In, Bits<8>>,
    sum: Signal<Out, Bits<8>>,
    seen: Pulse<Bits<8>>,
    word: Source<Bits<8>>,
    lanes: [Reg<Bits<8>>; 3],
    unreset: DFF<Bits<8>>,
    memory: Word,
    inner: Inner,
}

/// Takes a word from outside.
#[block]
struct Inner {
    write: Sink<Bits<8>>,
    held: Reg<Bits<8>>,
    value: Signal<Out, Bits<8>>,
}

#[hdl]
impl Inner {
    fn update(&mut self) {
        self.write.ready.next = true;
        self.held.load(self.write.valid.val(), self.write.val());
        self.value.next = self.held.q.val();
    }
}

#[hdl]
impl Forms {
    fn update(&mut self) {
        let data = self.data.val();
        for i in 0..3 {
            self.lanes[i].load(self.start.val() & data.get_bit(i), data + bits::<8>(i));
        }
        if data.any() {
            // Under a condition, and after another assignment, which the call replaces.
            self.unreset.d.next = data;
            self.unreset.load(self.start.val(), self.lanes[0].q.val());
        }
        self.store(data);
        self.seen.offer(self.start.val(), self.unreset.q.val());
        self.word.offer(data.get_bit(7), self.lanes[1].q.val() ^ self.inner.value.val());
        self.inner.write.offer(self.word.ready.val(), data);
        self.sum.next = self.lanes[2].q.val() + self.memory.read_data.val();
    }

    fn store(&mut self, data: Bits<8>) {
        self.memory.write(self.start.val(), data.get_bits::<3>(0), data);
        self.memory.read(!self.start.val(), if data.get_bit(6) { bits::<3>(5) } else { data.get_bits::<3>(3) });
    }
}

/// The ports of [`Forms`] as plain signals.
#[block]
struct Flat {
    start: Signal<In, Bit>,
    data: Signal<In, Bits<8>>,
    ready: Signal<In, Bit>,
    sum: Signal<Out, Bits<8>>,
    seen: Signal<Out, Bits<9>>,
    word: Signal<Out, Bits<9>>,
    forms: Forms,
}

#[hdl]
impl Flat {
    fn update(&mut self) {
        self.forms.start.next = self.start.val();
        self.forms.data.next = self.data.val();
        self.forms.word.ready.next = self.ready.val();
        self.sum.next = self.forms.sum.val();
        self.seen.next = (bit_cast::<1, 1>(self.forms.seen.valid.val().into()), self.forms.seen.val()).cat::<9>();
        self.word.next = (bit_cast::<1, 1>(self.forms.word.valid.val().into()), self.forms.word.val()).cat::<9>();
    }
}

differential!(short_forms, Flat::default(), reset, in [start data ready], out [sum seen word]);

#[test]
fn load_is_an_if() {
    let text = |block: &mut dyn FnMut() -> Result<spindle_verilog::Design, spindle_verilog::EmitError>| -> Vec<String> {
        let design = block().unwrap();
        assert_eq!(design.modules.len(), 1);
        design.modules[0].text.lines().filter(|line| !line.contains("//")).map(str::to_owned).collect()
    };
    let short = text(&mut || spindle_verilog::emit(&mut Short::default(), "top"));
    assert!(short.iter().any(|line| line.contains("if (enable)")), "{short:?}");
    assert_eq!(short, text(&mut || spindle_verilog::emit(&mut Long::default(), "top")));
}

#[block]
struct Short {
    enable: Signal<In, Bit>,
    data: Signal<In, Bits<4>>,
    value: Signal<Out, Bits<4>>,
    held: Reg<Bits<4>>,
}

#[hdl]
impl Short {
    fn update(&mut self) {
        self.held.load(self.enable.val(), self.data.val());
        self.value.next = self.held.q.val();
    }
}

#[block]
struct Long {
    enable: Signal<In, Bit>,
    data: Signal<In, Bits<4>>,
    value: Signal<Out, Bits<4>>,
    held: Reg<Bits<4>>,
}

#[hdl]
impl Long {
    fn update(&mut self) {
        if self.enable.val() {
            self.held.d.next = self.data.val();
        }
        self.value.next = self.held.q.val();
    }
}
