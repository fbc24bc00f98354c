//! What the back end refuses: one sentence each, with file and line of the mistake.

use spindle_verilog::prelude::*;
use spindle_verilog::EmitError;

/// A test per refused block, with words of the sentence.
macro_rules! refused {
    ($($test:ident: $block:ident says $($words:literal),+;)*) => {
        $(#[test] fn $test() {
            let source = include_str!("refused.rs");
            check(spindle_verilog::emit(&mut $block::default(), "top"), source, "refused.rs", &[$($words),+]);
        })*
    };
}

/// The design is refused with these words, and the line that is named is marked in the source.
pub fn check(result: Result<spindle_verilog::Design, EmitError>, source: &str, file: &str, words: &[&str]) {
    let error = match result {
        Ok(design) => panic!("accepted:\n{design}"),
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(error.file.ends_with(file), "no file: {text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // The mark stands on the line that is named, or opens the block that starts there.
    let at = error.line.saturating_sub(1) as usize;
    let marked = source.lines().skip(at).take(2).any(|line| line.contains("// here"));
    assert!(marked, "line {} is not marked: {text}", error.line);
}

/// A block with ports `a`, `b`, `p` and `y`.
macro_rules! ports {
    ($name:ident $(, $field:ident: $ty:ty)*) => {
        #[derive(LogicBlock, Default)]
        struct $name {
            pub clock: Signal<In, Clock>,
            pub a: Signal<In, Bits<8>>,
            pub b: Signal<In, Bits<4>>,
            pub p: Signal<In, Bit>,
            pub y: Signal<Out, Bits<8>>,
            $($field: $ty,)*
        }
    };
}

ports!(Latch);
impl Logic for Latch {
    #[hdl]
    fn update(&mut self) {
        if self.p.val() {
            self.y.next = self.a.val(); // here
        }
    }
}

ports!(MatchLatch);
impl Logic for MatchLatch {
    #[hdl]
    fn update(&mut self) {
        match self.b.val().index() {
            1 => self.y.next = self.a.val(), // here
            _ => {}
        }
    }
}

ports!(ReadBefore, middle: Signal<Local, Bits<8>>);
impl Logic for ReadBefore {
    #[hdl]
    fn update(&mut self) {
        self.middle.next = self.a.val();
        self.y.next = self.middle.val();
        self.middle.next = bits::<8>(0); // here
    }
}

ports!(Unassigned);
impl Logic for Unassigned {
    #[hdl]
    fn update(&mut self) { // here
    }
}

ports!(UnassignedPin, sub: DFF<Bits<8>>);
impl Logic for UnassignedPin {
    #[hdl]
    fn update(&mut self) {
        // here
        self.sub.clock.next = self.clock.val();
        self.y.next = self.sub.q.val();
    }
}

ports!(TooLarge);
impl Logic for TooLarge {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val() + 256; // here
    }
}

ports!(TooLargeCompare);
impl Logic for TooLargeCompare {
    #[hdl]
    fn update(&mut self) {
        self.y.next = repeat::<8>(self.b.val() == 16); // here
    }
}

ports!(TooLargePattern);
impl Logic for TooLargePattern {
    #[hdl]
    fn update(&mut self) {
        match self.b.val().index() {
            17 => self.y.next = self.a.val(), // here
            _ => self.y.next = bits::<8>(0),
        }
    }
}

ports!(Keyword, task: Signal<Local, Bit>);
impl Logic for Keyword {
    #[hdl]
    fn update(&mut self) {
        // here
        self.task.next = self.p.val();
        self.y.next = self.a.val();
    }
}

ports!(Context, context: Reg<Bit>);
impl Logic for Context {
    #[hdl]
    fn update(&mut self) {
        // here
        self.y.next = self.a.val();
    }
}

ports!(BuiltIn, mailbox: DFF<Bit>);
impl Logic for BuiltIn {
    #[hdl]
    fn update(&mut self) {
        // here
        self.y.next = self.a.val();
    }
}

ports!(CppPort, short: Signal<In, Bit>);
impl Logic for CppPort {
    #[hdl]
    fn update(&mut self) {
        // here
        self.y.next = self.a.val();
    }
}

ports!(LetKeyword);
impl Logic for LetKeyword {
    #[hdl]
    fn update(&mut self) {
        let begin = self.a.val(); // here
        self.y.next = begin;
    }
}

ports!(SameName, bus: [Signal<In, Bit>; 1], bus_0: Signal<In, Bit>);
impl Logic for SameName {
    #[hdl]
    fn update(&mut self) {
        // here
        self.y.next = self.a.val();
    }
}

ports!(While);
impl Logic for While {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        while self.p.val() {
            // here
            self.y.next = self.a.val();
        }
    }
}

ports!(Loop);
impl Logic for Loop {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        loop {
            // here
            break;
        }
    }
}

ports!(Return);
impl Logic for Return {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        if self.p.val() {
            return; // here
        }
    }
}

ports!(CatWidth);
impl Logic for CatWidth {
    #[hdl]
    fn update(&mut self) {
        self.y.next = (self.a.val(), self.p.val()).cat::<8>(); // here
    }
}

ports!(Outside);
impl Logic for Outside {
    #[hdl]
    fn update(&mut self) {
        self.y.next = repeat::<8>(self.a.val().get_bit(8)); // here
    }
}

ports!(NoGuard);
impl Logic for NoGuard {
    #[hdl]
    fn update(&mut self) {
        match self.b.val().index() {
            1 if self.p.val() => self.y.next = self.a.val(), // here
            _ => self.y.next = bits::<8>(0),
        }
    }
}

ports!(RangePattern);
impl Logic for RangePattern {
    #[hdl]
    fn update(&mut self) {
        match self.b.val().index() {
            1..=3 => self.y.next = self.a.val(), // here
            _ => self.y.next = bits::<8>(0),
        }
    }
}

ports!(SubOutput, held: DFF<Bits<8>>);
impl Logic for SubOutput {
    #[hdl]
    fn update(&mut self) {
        self.held.clock.next = self.clock.val();
        self.held.d.next = self.held.q.val();
        self.held.q.next = self.a.val(); // here
        self.y.next = self.held.q.val();
    }
}

ports!(InputAssigned);
impl Logic for InputAssigned {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        self.p.next = true; // here
    }
}

ports!(Method);
impl Logic for Method {
    #[hdl]
    fn update(&mut self) {
        self.y.next = bits::<8>(self.a.val().len() as u64); // here
    }
}

ports!(BadMacro);
impl Logic for BadMacro {
    #[hdl]
    fn update(&mut self) {
        println!("here"); // here
        self.y.next = self.a.val();
    }
}

ports!(IfWithout);
impl Logic for IfWithout {
    #[hdl]
    fn update(&mut self) {
        let x = if self.p.val() { 1 } else { 2 }; // here
        self.y.next = bits::<8>(x);
    }
}

ports!(RegLatch, held: DFF<Bits<8>>);
impl Logic for RegLatch {
    #[hdl]
    fn update(&mut self) {
        self.held.clock.next = self.clock.val();
        if self.p.val() {
            self.held.d.next = self.a.val(); // here
        }
        self.y.next = self.held.q.val();
    }
}

ports!(Gated, held: DFF<Bits<8>>);
impl Logic for Gated {
    #[hdl]
    fn update(&mut self) {
        self.held.clock.next = Clock { clk: self.p.val() }; // here
        self.held.d.next = self.a.val();
        self.y.next = self.held.q.val();
    }
}
ports!(ManyChoices);
impl Logic for ManyChoices {
    #[hdl]
    fn update(&mut self) {
        self.y.next = select(self.b.val().get_bits::<1>(0), [self.a.val(), bits::<8>(1), bits::<8>(2)]);
        // here
    }
}

ports!(RepeatedChoice);
impl Logic for RepeatedChoice {
    #[hdl]
    fn update(&mut self) {
        self.y.next = select(self.b.val(), [self.a.val(); 4]); // here
    }
}

ports!(OddBytes);
impl Logic for OddBytes {
    #[hdl]
    fn update(&mut self) {
        self.y.next = bit_cast::<8, 4>(byte_swap(self.b.val())); // here
    }
}

ports!(NarrowMask);
impl Logic for NarrowMask {
    #[hdl]
    fn update(&mut self) {
        self.y.next = byte_mask::<8, 4>(self.b.val()); // here
    }
}

ports!(NarrowSum);
impl Logic for NarrowSum {
    #[hdl]
    fn update(&mut self) {
        self.y.next = add_with_carry::<8, 8>(self.a.val(), self.a.val(), self.p.val());
        // here
    }
}

ports!(NarrowNumber);
impl Logic for NarrowNumber {
    #[hdl]
    fn update(&mut self) {
        self.y.next = bit_cast::<8, 2>(first_set::<2, 8>(self.a.val())); // here
    }
}

ports!(NarrowCount);
impl Logic for NarrowCount {
    #[hdl]
    fn update(&mut self) {
        self.y.next = bit_cast::<8, 3>(count_ones::<3, 8>(self.a.val())); // here
    }
}

ports!(TupleAlone);
impl Logic for TupleAlone {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        (self.a.val(), self.b.val()); // here
    }
}

ports!(LongShift);
impl Logic for LongShift {
    #[hdl]
    fn update(&mut self) {
        let _far = 1u128 << 127; // here
        self.y.next = self.a.val();
    }
}

ports!(NumberMethod);
impl Logic for NumberMethod {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        for i in 0..2u64 {
            self.y.next = bits::<8>(i.pow(2)); // here
        }
    }
}

/// A function of the name that joins bundles.
fn join(_: &mut Signal<Local, Bits<8>>, _: &mut Signal<Out, Bits<8>>) {}

ports!(PlainJoin, middle: Signal<Local, Bits<8>>);
impl Logic for PlainJoin {
    #[hdl]
    fn update(&mut self) {
        self.middle.next = self.a.val();
        join(&mut self.middle, &mut self.y); // here
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Halves {
    low: Bits<4>,
    high: Bits<4>,
}

ports!(PartReadBefore, middle: Signal<Local, Halves>);
impl Logic for PartReadBefore {
    #[hdl]
    fn update(&mut self) {
        self.middle.next.low = self.b.val();
        self.y.next = bit_cast::<8, 4>(self.middle.val().high);
        self.middle.next.high = self.b.val(); // here
    }
}

ports!(NegativeMatch);
impl Logic for NegativeMatch {
    #[hdl]
    fn update(&mut self) {
        self.y.next = self.a.val();
        for i in 0..1i32 {
            match i - 1 {
                // here
                0 => self.y.next = bits::<8>(1),
                _ => self.y.next = bits::<8>(2),
            }
        }
    }
}

ports!(OpenNumber);
impl Logic for OpenNumber {
    #[hdl]
    fn update(&mut self) {
        let number = first_set(self.a.val()); // here
        self.y.next = number;
    }
}

refused! {
    latch: Latch says "`y` is not assigned on every path", "give it a default before the condition";
    latch_in_match: MatchLatch says "`y` is not assigned on every path";
    read_before_final_write: ReadBefore says "`middle` is assigned here but read before", "use a `let mut`";
    unassigned_output: Unassigned says "`y` is never assigned";
    unassigned_submodule_input: UnassignedPin says "`sub.d` is never assigned";
    literal_that_does_not_fit: TooLarge says "256 does not fit in 8 bits";
    compared_literal_that_does_not_fit: TooLargeCompare says "16 does not fit in 4 bits";
    pattern_that_does_not_fit: TooLargePattern says "17 does not fit in the 4 bits";
    keyword: Keyword says "`task` is a Verilog keyword", "another name";
    keyword_of_systemverilog: Context says "`context` is a Verilog keyword";
    built_in_class: BuiltIn says "`mailbox` is a built-in class of SystemVerilog";
    word_of_cpp_as_port: CppPort says "`short` is a word of C++", "give the port another name";
    keyword_as_local: LetKeyword says "`begin` is a Verilog keyword";
    two_names_that_become_one: SameName says "two signals are called `bus_0`", "rename";
    while_loop: While says "`while` is not part of the language", "use `for i in 0..N`";
    endless_loop: Loop says "`loop` is not part of the language";
    early_return: Return says "`return` is not part of the language";
    concatenation_of_another_width: CatWidth says "the members have 9 bits", "cat::<8>";
    bit_outside: Outside says "bit 8 lies outside a value of 8 bits";
    guard: NoGuard says "guards are not part of the language";
    range_pattern: RangePattern says "range patterns are not part of the language";
    register_output_assigned: SubOutput says "present value of a register", "assign `.d.next`";
    input_assigned: InputAssigned says "`p` is an input of this block";
    foreign_method: Method says "method `len` is not part of the language";
    foreign_macro: BadMacro says "`println!` is not part of the language";
    value_without_width: IfWithout says "width of this `if` is not known";
    register_that_does_not_hold: RegLatch says "`held.d` is not assigned on every path", "write #[block]";
    gated_clock: Gated says "a clock is not built from bits", "connect a clock input";
    more_values_than_numbers: ManyChoices says "select has 3 values, but its 1 bits name 2";
    values_that_are_no_list: RepeatedChoice says "select takes its values side by side";
    bytes_that_are_not_whole: OddBytes says "byte_swap takes whole bytes, this has 4 bits";
    mask_of_another_width: NarrowMask says "byte_mask gives 32 bits here, but 8 are written";
    sum_without_its_carry: NarrowSum says "add_with_carry gives 9 bits here, but 8 are written";
    number_that_does_not_fit: NarrowNumber says "first_set gives 3 bits here, which do not fit in 2";
    count_that_does_not_fit: NarrowCount says "count_ones gives 4 bits here, which do not fit in 3";
    tuple_as_statement: TupleAlone says "this statement is not part of the language";
    shift_beyond_all_numbers: LongShift says "the width of the shifted number is not known here";
    method_of_a_number: NumberMethod says "the width of 0 is not known here";
    join_of_no_type: PlainJoin says "a call as a statement is `Type::join(&mut self.a, &mut self.b)`";
    field_read_before_its_write: PartReadBefore says "`middle` is assigned here but read before";
    match_on_a_negative_number: NegativeMatch says "`match` takes a state, a Bit, `.index()` or `.to_u64()`";
    number_without_width: OpenNumber says "the width of the result is not known here", "first_set::<M, N>(x)";
}
