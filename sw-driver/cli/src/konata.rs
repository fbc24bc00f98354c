//! `spindle run --konata`: the instructions as the Konata pipeline viewer reads them, format Kanata 0004.
//!
//! The retirement port reports of each instruction that retires its last cycle in D, X and M1 and the cycle of its
//! retirement, and these are the stages of the file: `D` (its last cycle there; earlier ones and the fetch are not
//! reported), `X`, `M1`, `M2`, `W` while an instruction waits for an answer or the divider, and `M3`, in which it
//! retires. Instructions that do not retire are not in the file.

use anyhow::{Context, Result};
use spindle_sim::instructions::{annotations, Disassembly};
use spindle_sim::Retired;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Arguments of `spindle run` for the pipeline viewer.
#[derive(clap::Args)]
pub struct KonataArguments {
    /// Pipeline trace to write, for the viewer Konata (the first use builds a model with a retirement port).
    #[arg(long, value_name = "TRACE.kanata")]
    pub konata: Option<PathBuf>,
}

/// Hardware threads of an HPU.
const THREADS: usize = 2;

/// Collects instructions; a file of this format is in the order of time, so it is written at the end.
pub struct Konata {
    disassembly: Disassembly,
    hpus: usize,
    file: BufWriter<Box<dyn Write + Send>>,
    instructions: Vec<Retired>,
}

/// First cycle of each stage of an instruction, and at last the cycle after its retirement.
fn stages(retired: &Retired) -> Vec<(u64, &'static str)> {
    let last = |since: u32| retired.cycle - u64::from(since);
    let decode = last(retired.since_decode);
    let (execute, memory) = (decode + 1, last(retired.since_execute) + 1);
    let second = last(retired.since_memory) + 1;
    let mut stages = vec![(decode, "D"), (execute, "X"), (memory, "M1"), (second, "M2")];
    if second + 1 < retired.cycle {
        stages.push((second + 1, "W"));
    }
    stages.extend([(retired.cycle, "M3"), (retired.cycle + 1, "")]);
    stages
}

impl Konata {
    /// Starts a trace in an output that is open; a cluster has `hpus` HPUs.
    pub fn new(output: Box<dyn Write + Send>, disassembly: Disassembly, hpus: usize) -> Konata {
        Konata { disassembly, hpus, file: BufWriter::new(output), instructions: Vec::new() }
    }

    /// Takes an instruction.
    pub fn retired(&mut self, retired: &Retired) {
        self.instructions.push(*retired);
    }

    /// Writes the file; how many instructions it holds.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<usize> {
        let instructions = std::mem::take(&mut self.instructions);
        self.write(&instructions).context("the trace for Konata could not be written")?;
        Ok(instructions.len())
    }

    fn write(&mut self, instructions: &[Retired]) -> std::io::Result<()> {
        // The instructions retire in the order of the list; in the file they have the numbers of the order in which they begin.
        let spans: Vec<_> = instructions.iter().map(stages).collect();
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|index| (spans[*index][0].0, *index));
        let first = order.first().map_or(0, |index| spans[*index][0].0);
        write!(self.file, "Kanata\t0004\nC=\t{first}\n")?;
        let mut now = first;
        let mut starting = order.iter().enumerate().peekable();
        // Future events: cycle, number in the file, stage.
        let mut pending: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        loop {
            let next = starting.peek().map(|(_, index)| spans[**index][0].0);
            let Reverse((cycle, number, stage)) = match (next, pending.peek()) {
                (Some(cycle), event) if event.is_none_or(|Reverse((first, ..))| cycle <= *first) => {
                    let (number, _) = starting.next().expect("it was seen");
                    Reverse((cycle, number, 0))
                }
                _ => match pending.pop() {
                    Some(event) => event,
                    None => break,
                },
            };
            if cycle > now {
                writeln!(self.file, "C\t{}", cycle - now)?;
                now = cycle;
            }
            let (retirement, span) = (order[number], &spans[order[number]]);
            let retired = &instructions[retirement];
            if stage == 0 {
                self.begin(number, retired)?;
            }
            match span.get(stage + 1) {
                Some((cycle, _)) => {
                    writeln!(self.file, "S\t{number}\t0\t{}", span[stage].1)?;
                    pending.push(Reverse((*cycle, number, stage + 1)));
                }
                // A faulting instruction is flushed.
                None => {
                    writeln!(self.file, "E\t{number}\t0\tM3\nR\t{number}\t{retirement}\t{}", u8::from(retired.trap))?
                }
            }
        }
        self.file.flush()
    }

    /// The head of an instruction: its thread, its text, what it did.
    fn begin(&mut self, number: usize, retired: &Retired) -> std::io::Result<()> {
        let thread = retired.unit * THREADS + retired.thread;
        writeln!(self.file, "I\t{number}\t{}\t{thread}", retired.order)?;
        let text = self.disassembly.text(retired.pc);
        let name = self.disassembly.function(retired.pc).map_or_else(String::new, |name| format!("<{name}> "));
        writeln!(self.file, "L\t{number}\t0\t{:08x}: {name}{text}", retired.pc)?;
        let hart = format!("{}.{}.{}", retired.unit / self.hpus, retired.unit % self.hpus, retired.thread);
        writeln!(self.file, "L\t{number}\t1\thart {hart}, {:08x}{}", retired.insn, annotations(retired))
    }
}
