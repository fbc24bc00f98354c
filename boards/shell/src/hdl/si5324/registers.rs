//! Registers of the Si5324.

/// Registers that are written.
pub(super) const COUNT: usize = 21;

/// Registers of the Si5324 and their values, in the order in which they are written.
///
/// The fields are those of the reference manual "Any-Frequency Precision Clocks Si53xx"; a divider's register holds the
/// divider less 1 (N1_HS and N2_HS: less 4). The crystal of the board has 114.285 MHz. With free run it takes the place of
/// the second input:
///
/// * f3 = 114.285 MHz / N32 = 114.285 MHz / 30,476 = 3,750 Hz (2 kHz to 2 MHz)
/// * f_osc = f3 · N2_HS · N2_LS = 3,750 Hz · 10 · 150,000 = 5.625 GHz (4.85 to 5.67 GHz)
/// * f_out = f_osc / (N1_HS · NC1_LS) = 5.625 GHz / (9 · 4) = 156.25 MHz
///
/// The plan and the bandwidth (BWSEL, which the manual leaves to a program of the vendor) are the values of a public
/// design for the board: taxi 2f2fe72, `src/eth/example/KC705/fpga_10g/rtl/si5324_i2c_init.sv`.
pub const REGISTERS: [(u64, u64); COUNT] = [
    // FREE_RUN; outputs off until calibrated.
    (0, 0x54),
    // First the input 1, then the crystal.
    (1, 0xE4),
    // BWSEL 1.
    (2, 0x12),
    // SQ_ICAL.
    (3, 0x15),
    // Automatic, revertive.
    (4, 0x92),
    // Output 2 off.
    (10, 0x08),
    (11, 0x40),
    // N1_HS 9.
    (25, 0xA0),
    // NC1_LS 4.
    (31, 0x00),
    (32, 0x00),
    (33, 0x03),
    // N2_HS 10, N2_LS 150,000.
    (40, 0xC2),
    (41, 0x49),
    (42, 0xEF),
    // N31 30,476.
    (43, 0x00),
    (44, 0x77),
    (45, 0x0B),
    // N32 30,476.
    (46, 0x00),
    (47, 0x77),
    (48, 0x0B),
    // ICAL.
    (136, 0x40),
];

const fn numbers() -> [u64; COUNT] {
    let mut all = [0; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = REGISTERS[i].0;
        i += 1;
    }
    all
}

const fn values() -> [u64; COUNT] {
    let mut all = [0; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = REGISTERS[i].1;
        i += 1;
    }
    all
}

pub(super) const NUMBERS: [u64; COUNT] = numbers();
pub(super) const VALUES: [u64; COUNT] = values();
/// Register with loss of signal; bit 0 is the crystal.
pub const LOSS_OF_SIGNAL: u64 = 129;
/// Register with loss of lock in bit 0.
pub const LOSS_OF_LOCK: u64 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers as fields of the reference manual: the plan gives 156.25 MHz, within the limits of the device.
    #[test]
    fn the_plan_is_156_25_megahertz() {
        let register = |number| REGISTERS.iter().find(|r| r.0 == number).expect("the register is written").1;
        let divider = |number, mask: u64| {
            ((register(number) & mask) << 16 | register(number + 1) << 8 | register(number + 2)) + 1
        };
        let n1_hs = (register(25) >> 5) + 4;
        let n2_hs = (register(40) >> 5) + 4;
        let (nc1, n2_ls, n32) = (divider(31, 0xF), divider(40, 0xF), divider(46, 0x7));
        assert_eq!((n1_hs, nc1, n2_hs, n2_ls, n32), (9, 4, 10, 150_000, 30_476));
        assert!(nc1 == 1 || nc1 % 2 == 0);
        assert!(n2_ls % 2 == 0);
        let crystal = 114_285_000;
        assert_eq!(crystal % n32, 0);
        let f3 = crystal / n32;
        assert!((2_000..=2_000_000).contains(&f3), "{f3}");
        let oscillator = f3 * n2_hs * n2_ls;
        assert!((4_850_000_000..=5_670_000_000).contains(&oscillator), "{oscillator}");
        assert_eq!(oscillator, 156_250_000 * n1_hs * nc1);
        assert_eq!(register(0) >> 6 & 1, 1, "the crystal takes the place of an input");
        assert_eq!(REGISTERS[COUNT - 1], (136, 0x40), "the calibration comes last");
    }
}
