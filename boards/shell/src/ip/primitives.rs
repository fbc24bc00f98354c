//! Primitives of the devices: buffers, dividers, the device's number.
//!
//! Names, ports and parameters: UG974 (UltraScale+) and UG953 (7 series), as yosys' `cells_xtra.v` (ISC) has them too. A
//! primitive needs no IP; its module comes with the device.

vendor_block! {
    /// Reference clock of GTY transceivers. `ODIV2` feeds fabric through a `BUFG_GT`.
    IbufdsGte4 "IBUFDS_GTE4" [REFCLK_EN_TX_PATH = "1'b0", REFCLK_HROW_CK_SEL = "2'b00", REFCLK_ICNTL_RX = "2'b00"] {
        I: In Clock @ "" => Top;
        IB: In Clock @ "" => Top;
        CEB: In Bit @ "" => Tie(0);
        O: Out Clock @ "" => Top;
        ODIV2: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// Reference clock of GTX transceivers.
    IbufdsGte2 "IBUFDS_GTE2" [CLKCM_CFG = "\"TRUE\"", CLKRCV_TRST = "\"TRUE\"", CLKSWING_CFG = "2'b11"] {
        I: In Clock @ "" => Top;
        IB: In Clock @ "" => Top;
        CEB: In Bit @ "" => Tie(0);
        O: Out Clock @ "" => Top;
        ODIV2: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// A differential clock from a pair of pads.
    Ibufds "IBUFDS" [] {
        I: In Clock @ "" => Top;
        IB: In Clock @ "" => Top;
        O: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// A signal from a pad.
    Ibuf "IBUF" [] {
        I: In Bit @ "" => Top;
        O: Out Bit @ "" => Top;
    }
}

vendor_block! {
    /// A signal to a pad.
    Obuf "OBUF" [] {
        I: In Bit @ "" => Top;
        O: Out Bit @ "" => Top;
    }
}

vendor_block! {
    /// A pad of both directions: `T` set leaves the pad to others.
    Iobuf "IOBUF" [] {
        I: In Bit @ "" => Top;
        T: In Bit @ "" => Top;
        O: Out Bit @ "" => Top;
        IO: InOut Bit @ "" => Top;
    }
}

vendor_block! {
    /// A clock on the global network.
    Bufg "BUFG" [] {
        I: In Clock @ "" => Top;
        O: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// A clock made of another by a loop; the frequency of the oscillator is that of `CLKIN1` times `CLKFBOUT_MULT_F`.
    Mmcme2Base "MMCME2_BASE" [
        CLKIN1_PERIOD = "0.000", CLKFBOUT_MULT_F = "5.000", DIVCLK_DIVIDE = "1", CLKOUT0_DIVIDE_F = "1.000"
    ] {
        CLKIN1: In Clock @ "" => Top;
        CLKFBIN: In Clock @ "" => Top;
        CLKFBOUT: Out Clock @ "" => Top;
        CLKOUT0: Out Clock @ "" => Top;
        LOCKED: Out Bit @ "" => Open;
        PWRDWN: In Bit @ "" => Tie(0);
        RST: In Bit @ "" => Tie(0);
    }
}

vendor_block! {
    /// A transceiver's clock on the global network, divided by `DIV` plus 1.
    BufgGt "BUFG_GT" [] {
        I: In Clock @ "" => Top;
        CE: In Bit @ "" => Tie(1);
        CEMASK: In Bit @ "" => Tie(0);
        CLR: In Bit @ "" => Tie(0);
        CLRMASK: In Bit @ "" => Tie(0);
        DIV: In Bits [3] @ "" => Tie(0);
        O: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// A clock on the global network, divided by `BUFGCE_DIVIDE`.
    BufgceDiv "BUFGCE_DIV" [BUFGCE_DIVIDE = "1"] {
        I: In Clock @ "" => Top;
        CE: In Bit @ "" => Tie(1);
        CLR: In Bit @ "" => Tie(0);
        O: Out Clock @ "" => Top;
    }
}

vendor_block! {
    /// The number of an UltraScale+ device: 96 bits, one after the other.
    DnaPortE2 "DNA_PORTE2" [] {
        CLK: In Clock @ "" => Shell;
        DIN: In Bit @ "CLK" => Shell;
        READ: In Bit @ "CLK" => Shell;
        SHIFT: In Bit @ "CLK" => Shell;
        DOUT: Out Bit @ "CLK" => Shell;
    }
}

vendor_block! {
    /// The number of a 7-series device: 57 bits, one after the other.
    DnaPort "DNA_PORT" [] {
        CLK: In Clock @ "" => Shell;
        DIN: In Bit @ "CLK" => Shell;
        READ: In Bit @ "CLK" => Shell;
        SHIFT: In Bit @ "CLK" => Shell;
        DOUT: Out Bit @ "CLK" => Shell;
    }
}

vendor_block! {
    /// The word that `BITSTREAM.CONFIG.USR_ACCESS` put into the bitstream.
    UsrAccessE2 "USR_ACCESSE2" [] {
        CFGCLK: Out Clock @ "" => Open;
        DATA: Out Bits [32] @ "" => Shell;
        DATAVALID: Out Bit @ "" => Open;
    }
}
