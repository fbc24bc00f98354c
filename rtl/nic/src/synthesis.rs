//! The NIC for synthesis: without trace ports, with the interface attributes that Vivado's block designs read.
//!
//! What only the trace ports read goes with them. The trace ring, which the host reads, stays.

use spindle_contract::params::{Config, BEAT_BYTES};
use spindle_contract::registers::BAR_BITS;
use spindle_verilog::{Design, EmitError, Options};

use crate::nic::Nic;

/// Module of the NIC, as the emitter names it.
const BLOCK: &str = "nic";
/// Outputs that nothing but a test bench reads.
const TRACE_PORTS: [&str; 7] =
    ["trace_valid", "trace_tags", "trace_threads", "trace_mailbox", "trace_join", "trace_end", "trace_task"];

/// Signals of a stream, with their names in AXI4-Stream.
const STREAM: [(&str, &str); 6] = [
    ("data", "TDATA"),
    ("keep", "TKEEP"),
    ("last", "TLAST"),
    ("user", "TUSER"),
    ("valid", "TVALID"),
    ("ready", "TREADY"),
];
/// Signals of AXI4-Lite. In AXI the names are the same in capitals.
const AXI_LITE: [&str; 17] = [
    "awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid", "bready", "araddr",
    "arvalid", "arready", "rdata", "rresp", "rvalid", "rready",
];
/// Signals of the AXI4 master that AXI4-Lite does not have.
const AXI_MORE: [&str; 12] =
    ["awid", "awlen", "awsize", "awburst", "wlast", "bid", "arid", "arlen", "arsize", "arburst", "rid", "rlast"];

/// Leaves the trace ports of each NIC of a design out: of the top, or of one inside a shell.
pub fn without_trace() -> Options {
    TRACE_PORTS.iter().fold(Options::default(), |options, port| options.without_output(BLOCK, port))
}

/// [`without_trace`], and `X_INTERFACE_INFO`, `X_INTERFACE_PARAMETER` and `X_INTERFACE_MODE` beside the ports of each NIC.
pub fn with_interfaces(config: &Config) -> Options {
    let hertz = config.clock_mhz * 1_000_000;
    let stream =
        format!("TDATA_NUM_BYTES {BEAT_BYTES}, TUSER_WIDTH 1, HAS_TKEEP 1, HAS_TLAST 1, HAS_TREADY 1, HAS_TSTRB 0");
    let lite = format!("PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH {BAR_BITS}, HAS_PROT 0");
    let full = format!(
        "PROTOCOL AXI4, DATA_WIDTH {}, ADDR_WIDTH 64, ID_WIDTH 8, HAS_PROT 0, HAS_CACHE 0, HAS_LOCK 0, HAS_QOS 0, \
         HAS_REGION 0, SUPPORTS_NARROW_BURST 0",
        8 * BEAT_BYTES
    );
    // Its timers count at this rate; the rate of the buses comes from their clock.
    let clock = format!("ASSOCIATED_BUSIF rx:tx:bar:host, ASSOCIATED_RESET reset, FREQ_HZ {hertz}");
    let axi = |signals: &[&'static str]| -> Vec<(&'static str, String)> {
        signals.iter().map(|signal| (*signal, signal.to_uppercase())).collect()
    };
    let streams: Vec<(&str, String)> = STREAM.iter().map(|(signal, name)| (*signal, (*name).to_string())).collect();
    let buses = [
        ("rx", "axis", "slave", &stream, streams.clone()),
        ("tx", "axis", "master", &stream, streams),
        ("bar", "aximm", "slave", &lite, axi(&AXI_LITE)),
        ("host", "aximm", "master", &full, [axi(&AXI_LITE), axi(&AXI_MORE)].concat()),
    ];
    let signal = |options: Options, port: &str, kind: &str, name: &str, parameter: &str| {
        let info = format!("xilinx.com:signal:{kind}:1.0 {port} {name}");
        let options = options.port_attribute(BLOCK, port, "X_INTERFACE_INFO", &info);
        options.port_attribute(BLOCK, port, "X_INTERFACE_PARAMETER", parameter)
    };
    let mut options = signal(without_trace(), "clock", "clock", "CLK", &clock);
    options = signal(options, "reset", "reset", "RST", "POLARITY ACTIVE_HIGH");
    for (bus, kind, mode, parameter, signals) in buses {
        for (at, (signal, name)) in signals.iter().enumerate() {
            let port = format!("{bus}_{signal}");
            let info = format!("xilinx.com:interface:{kind}:1.0 {bus} {name}");
            options = options.port_attribute(BLOCK, &port, "X_INTERFACE_INFO", &info);
            if at == 0 {
                options = options.port_attribute(BLOCK, &port, "X_INTERFACE_MODE", mode);
                options = options.port_attribute(BLOCK, &port, "X_INTERFACE_PARAMETER", parameter);
            }
        }
    }
    options
}

/// The Verilog of a whole NIC for synthesis: no trace ports, interface attributes beside the others.
///
/// # Errors
/// As for [`emit`](crate::emit).
pub fn emit_for_synthesis(config: &Config) -> Result<Design, EmitError> {
    config.validate().map_err(EmitError::parameter)?;
    let options = with_interfaces(config);
    crate::elaborate(|| spindle_verilog::emit_with(&mut Nic::new(config), crate::TOP, &options))
}
