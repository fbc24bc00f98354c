# Writes the configuration flash over JTAG:
# vivado -mode batch -source flash.tcl -tclargs -hw_server localhost:3121 -mcs build/top_BOARD.mcs
#
# The maker's image below `golden_end` is what brings a card back after a bad bitstream. A file that touches it is refused,
# and only the range of the file is erased.

source [file join [file dirname [file normalize [info script]]] common.tcl]
need settings.tcl
need_top

set options [arguments [list \
    hw_server localhost:3121 {host and port of hw_server} \
    cable {} {serial number of the cable, if there are several} \
    device {} {device of the cable, if several are the board's part} \
    mcs build/[dict get $spindle top].mcs {image, as write_cfgmem writes it}]]

# Lowest and highest address of an Intel HEX file.
proc range_of {path} {
    set channel [open $path]
    set base 0
    set low ""
    set high 0
    while {[gets $channel line] >= 0} {
        if {![regexp {^:([0-9A-Fa-f]{2})([0-9A-Fa-f]{4})([0-9A-Fa-f]{2})([0-9A-Fa-f]*)} $line whole length offset kind rest]} {
            if {[string trim $line] eq ""} {
                continue
            }
            close $channel
            stop "$path is no Intel HEX file: `[string range $line 0 40]`"
        }
        switch $kind {
            02 { set base [expr {[scan [string range $rest 0 3] %x] << 4}] }
            04 { set base [expr {[scan [string range $rest 0 3] %x] << 16}] }
            00 {
                set at [expr {$base + [scan $offset %x]}]
                if {$low eq "" || $at < $low} {
                    set low $at
                }
                set end [expr {$at + [scan $length %x]}]
                if {$end > $high} {
                    set high $end
                }
            }
        }
    }
    close $channel
    if {$low eq ""} {
        stop "$path has no data"
    }
    return [list $low $high]
}

set mcs [dict get $options mcs]
if {![file exists $mcs]} {
    stop "$mcs is missing; make it with build.tcl, or give -mcs FILE"
}
lassign [range_of $mcs] low high
set golden [expr {[dict get $spindle golden_end]}]
if {$low < $golden} {
    stop [format "%s begins at 0x%08x, inside the maker's image, which ends at 0x%08x and brings the card back after a bad\
        bitstream; make the file with build.tcl" $mcs $low $golden]
}
set size [expr {[dict get $spindle flash_size_mib] << 20}]
if {$high > $size} {
    stop [format "%s ends at 0x%08x, and the flash at 0x%08x" $mcs $high $size]
}
set part [dict get $spindle flash_part]
set device [open_device [dict get $options hw_server] [dict get $options cable] [dict get $options device] \
    [dict get $spindle part]]
set memory [get_cfgmem_parts $part]
if {[llength $memory] != 1} {
    stop "this Vivado knows no flash `$part`; look at the flash on the board, and correct flash_part in settings.tcl"
}
create_hw_cfgmem -hw_device $device [lindex $memory 0]
set cfgmem [get_property PROGRAM.HW_CFGMEM $device]
set_property PROGRAM.FILES [list $mcs] $cfgmem
set_property PROGRAM.ADDRESS_RANGE {use_file} $cfgmem
set_property PROGRAM.BLANK_CHECK 0 $cfgmem
set_property PROGRAM.ERASE 1 $cfgmem
set_property PROGRAM.CFG_PROGRAM 1 $cfgmem
set_property PROGRAM.VERIFY 1 $cfgmem
set_property PROGRAM.CHECKSUM 0 $cfgmem
# Never pull-up: the satellite controller of a card with HBM takes a high CATTRIP for heat, and cuts the power.
set_property PROGRAM.UNUSED_PIN_TERMINATION pull-none $cfgmem
create_hw_bitstream -hw_device $device [get_property PROGRAM.HW_CFGMEM_BITFILE $device]
program_hw_devices $device
refresh_hw_device $device
if {[catch {program_hw_cfgmem -hw_cfgmem $cfgmem} problem]} {
    stop "the flash was not written: $problem. The maker's image is untouched; try again before the power goes"
}
boot_hw_device $device
close_hw_manager
say [format "%s is in the flash from 0x%08x on. Switch the host off and on" $mcs $low]
