# Loads the bitstream over JTAG, until the next power cycle:
# vivado -mode batch -source program.tcl -tclargs -hw_server localhost:3121 -bit build/top_BOARD.bit

source [file join [file dirname [file normalize [info script]]] common.tcl]
need settings.tcl
need_top

set options [arguments [list \
    hw_server localhost:3121 {host and port of hw_server} \
    cable {} {serial number of the cable, if there are several} \
    device {} {device of the cable, if several are the board's part} \
    bit build/[dict get $spindle top].bit {bitstream}]]
set bit [dict get $options bit]
if {![file exists $bit]} {
    stop "$bit is missing; make it with build.tcl, or give -bit FILE"
}
set device [open_device [dict get $options hw_server] [dict get $options cable] [dict get $options device] \
    [dict get $spindle part]]
set_property PROGRAM.FILE $bit $device
set_property PROBES.FILE {} $device
if {[catch {program_hw_devices $device} problem]} {
    stop "the device did not take $bit: $problem"
}
refresh_hw_device $device
close_hw_manager
say "$bit is loaded. Restart the host without switching it off, or remove the PCI function and rescan"
