//! The page of a board's shell: `shell`.

use spindle_contract_macros::registers;

registers! {
    shell SHELL, id 8, at 0x0_F000: "Shell of a board: what was built, the state of the links, what the shell counts. Only cards whose \
        global.SHELL names the page have it. RESET does not reset the page; a reset of PCIe does.";
    status REVISION 0x000 "version of this page, 1";
    status BOARD 0x004 "board" { board 15:0 "number of the board, which is its PCI subsystem id" }
    status BUILD 0x008 "what was built" {
        configuration 3:0 "configuration of the NIC" {
            CUSTOM = 0 "none of the named ones",
            SIM = 1 "sim",
            KINTEX7 = 2 "kintex7",
            ALVEO = 3 "alveo",
            ALVEO32 = 4 "alveo32"
        };
        macs 7:4 "MACs";
        divider 11:8 "cycles of the PCIe clock in a cycle of the core";
        rsfec 12 "the MACs use RS-FEC";
        pause 13 "the MACs send pause frames";
        modified 14 "the checkout had changes that GIT does not name";
        dna_bits 23:16 "bits of the device's DNA"
    }
    status MAC_RATE 0x00C "rate of a MAC" { gbps 15:0 "Gbit/s" }
    status GIT[5] 0x010 "hash of the commit, 8 digits a word, the first ones in word 0";
    status DNA[3] 0x024 "DNA of the device, the lowest bits in word 0; valid with dna_valid";
    status PCIE 0x030 "PCIe" {
        up 0 "the link is up";
        msix 1 "the host has enabled MSI-X";
        vectors_set 2 "the vector map of the bridge was written and reads back";
        vectors_failed 3 "the vector map of the bridge could not be written, or does not read back";
        dna_valid 4 "DNA has been read";
        ltssm 13:8 "state of the link as the PCIe block numbers it"
    }
    status IRQ_PENDING 0x034 "interrupts" { irq_pending 15:0 "requests that wait for the PCIe block, a bit per vector" }
    counter HOST_REFUSED 0x038 "bursts to addresses of host memory that the bridge cannot reach, answered with an error";
    counter HOST_ABANDONED 0x03C "bursts that were answered with an error because the link was down";
    counter BAR_SILENT 0x040 "register accesses that the shell ended because the NIC did not answer";
    counter LINK_LOSSES 0x044 "times the link went down without a reset of PCIe";
    control IDENTIFY 0x048 "for people who look for the board" { identify 0 "the LEDs blink" }
    status MAC[2] 0x050 "MAC" {
        up 0 "frames can pass in both directions";
        aligned 1 "the receiver is aligned, or has block lock";
        local_fault 2 "the receiver reports a local fault";
        remote_fault 3 "the other end reports a fault";
        high_errors 4 "the receiver reports a high rate of bit errors";
        clock_stopped 5 "the MAC's clock, that of its receiver or of its transmitter, stands still; the other bits are 0 meanwhile"
    }
    counter MAC_LOSSES[2] 0x058 "times `up` of a MAC fell";
    counter RX_OVERFLOW[2] 0x060 "frames that the shell dropped because its receive FIFO was full";
    counter RX_BAD[2] 0x068 "frames that a MAC marked as bad";
    counter TX_FAILED[2] 0x070 "frames that a MAC did not send whole";
}

/// Value of REVISION.
pub const SHELL_REVISION: u32 = 1;
/// MACs that the page has room for.
pub const SHELL_MACS: usize = 2;
