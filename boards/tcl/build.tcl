# Makes the bitstream: vivado -mode batch -source build.tcl -tclargs -step bitstream
#
# The IP is made first, and its settings and ports are compared with ip.tcl: a difference ends the script before the long
# part begins. Negative slack ends it before a bitstream is written. Reports stay in the folder of the build.

source [file join [file dirname [file normalize [info script]]] common.tcl]
need settings.tcl
need ip.tcl
need compare.tcl

set options [arguments {
    step        bitstream   {check (IP only), ooc (the NIC alone), synth, or bitstream}
    out         build       {folder of the build}
    differences stop        {stop, or show: go on although the IP differs from the table}
    jobs        4           {threads}
}]
set steps {check ooc synth bitstream}
if {[dict get $options step] ni $steps} {
    stop "there is no step `[dict get $options step]`; give one of [join $steps {, }]"
}
if {[dict get $options differences] ni {stop show}} {
    stop "-differences is stop or show, not `[dict get $options differences]`"
}
set out [dict get $options out]
file mkdir $out

proc report_path {name} {
    return [file join $::out $name]
}

proc text_of {path} {
    set channel [open $path]
    set text [read $channel]
    close $channel
    return $text
}

# The smallest slack of a kind of path, ns.
proc slack {kind} {
    set paths [get_timing_paths -delay_type $kind -max_paths 1 -nworst 1]
    if {[llength $paths] == 0} {
        stop "the design has no path to check ($kind); the constraints are missing"
    }
    set slack [get_property SLACK [lindex $paths 0]]
    if {![string is double -strict $slack]} {
        stop "no path of the design has a constraint ($kind); read timing.xdc"
    }
    return $slack
}

# The smallest slack of the pulse widths, ns: the fourth figure from the end of the summary. Vivado has it in the report alone.
proc pulse_slack {} {
    set pattern {TPWS Total Endpoints\s*\n[-\s]*\n([^\n]*)\n}
    if {[regexp $pattern [text_of [report_path timing.rpt]] whole figures]} {
        return [lindex $figures end-3]
    }
    say "[report_path timing.rpt] has no slack of pulse widths where it was looked for; read pulses.rpt"
    return 0
}

# Clocks that the IP makes, as the constraints name them, with their frequencies; and the registers of each crossing. What
# the netlist does not have, Vivado passes over with a warning, and the crossing is without its constraint.
proc check_timing_names {} {
    set missing {}
    foreach {pin mhz} [dict get $::spindle clocks] {
        set clocks [get_clocks -quiet -of_objects [get_pins -quiet $pin]]
        if {[llength $clocks] == 0} {
            lappend missing "there is no clock at $pin"
            continue
        }
        set period [get_property PERIOD [lindex $clocks 0]]
        if {abs($period * $mhz / 1000.0 - 1) > 0.001} {
            lappend missing "the clock at $pin has a period of $period ns, and the design is made for $mhz MHz"
        }
    }
    foreach pattern [dict get $::spindle crossings] {
        if {[llength [get_cells -quiet -hierarchical -filter "NAME =~ $pattern"]] == 0} {
            lappend missing "no register is named $pattern, so a crossing of clocks has no constraint"
        }
    }
    if {[llength $missing]} {
        stop "the netlist differs from timing.xdc:\n  [join $missing "\n  "]"
    }
}

proc write_reports {} {
    report_timing_summary -max_paths 10 -report_unconstrained -file [report_path timing.rpt]
    report_utilization -hierarchical -hierarchical_depth 4 -file [report_path utilisation.rpt]
    report_clock_interaction -file [report_path clocks.rpt]
    report_cdc -details -file [report_path crossings.rpt]
    report_bus_skew -file [report_path skew.rpt]
    report_pulse_width -all_violators -file [report_path pulses.rpt]
    report_drc -file [report_path drc.rpt]
    report_methodology -file [report_path methodology.rpt]
    report_io -file [report_path pins.rpt]
}

# Negative slack ends the script: of paths, of pulse widths, of the skew of pointers that cross clocks.
proc gate_timing {} {
    set setup [slack max]
    set hold [slack min]
    set pulse [pulse_slack]
    say "slack: setup $setup ns, hold $hold ns, pulse width $pulse ns"
    set skew [expr {[string first VIOLATED [text_of [report_path skew.rpt]]] >= 0}]
    if {$setup < 0 || $hold < 0 || $pulse < 0 || $skew} {
        write_checkpoint -force [report_path failed.dcp]
    }
    if {$setup < 0 || $hold < 0 || $pulse < 0} {
        stop "timing is not met: setup $setup ns, hold $hold ns, pulse width $pulse ns. No bitstream is written; see\
            [report_path timing.rpt]"
    }
    if {$skew} {
        stop "the skew of a crossing is not met. No bitstream is written; see [report_path skew.rpt]"
    }
}

set part [dict get $spindle part]
set top [dict get $spindle top]
if {[dict get $options step] in {synth bitstream}} {
    need_top
}
set offset [dict get $spindle flash_offset]
if {$offset < [dict get $spindle golden_end]} {
    stop "the offset $offset lies in the maker's image, which ends at [dict get $spindle golden_end]; correct settings.tcl"
}
if {[llength [get_parts -quiet $part]] == 0} {
    stop "this Vivado has no part $part; add its device family in the installer, or take an edition that has it"
}
set_param general.maxThreads [dict get $options jobs]
create_project -in_memory -part $part
set_property TARGET_LANGUAGE Verilog [current_project]
set sources {}
foreach name [dict get $spindle rtl] {
    lappend sources [file join $here rtl $name]
}

if {[dict get $options step] eq "ooc"} {
    # The NIC without pads: areas and slack in minutes, without the IP.
    read_verilog -sv $sources
    read_xdc -mode out_of_context [file join $here ooc.xdc]
    licensed "the synthesis" "a licence for $part" {
        synth_design -mode out_of_context -top nic -part $part
    }
    report_timing_summary -max_paths 10 -file [report_path ooc_timing.rpt]
    report_utilization -hierarchical -hierarchical_depth 4 -file [report_path ooc_utilisation.rpt]
    say "out of context, before placement: setup slack [slack max] ns"
    return
}

# What an earlier run left would be found in place of what this Vivado makes.
set differences 0
set ip_folder [file join $out ip]
file delete -force $ip_folder
file mkdir $ip_folder
foreach module [dict keys $spindle_ip] {
    make_ip $module
}
foreach module [dict keys $spindle_ip] {
    check_ports $module
}
if {[dict get $options step] eq "check"} {
    say [expr {$differences ? "the IP has $differences differences from the table" : "the IP agrees with the table"}]
    return
}

read_verilog -sv $sources
foreach name [dict get $spindle xdc] {
    read_xdc [file join $here $name]
}
licensed "the synthesis" "a licence for $part" {
    synth_design -top $top -part $part
}
write_checkpoint -force [report_path synth.dcp]
check_timing_names
report_utilization -hierarchical -hierarchical_depth 4 -file [report_path synth_utilisation.rpt]
if {[dict get $options step] eq "synth"} {
    report_timing_summary -max_paths 10 -file [report_path synth_timing.rpt]
    say "synthesised; see [report_path synth_timing.rpt]"
    return
}

opt_design
place_design
phys_opt_design
route_design
phys_opt_design
write_checkpoint -force [report_path routed.dcp]
write_reports
gate_timing

set bit [report_path $top.bit]
licensed "the bitstream" [dict get $spindle licence] {write_bitstream -force $bit}
set mcs [report_path $top.mcs]
write_cfgmem -force -format mcs -size [dict get $spindle flash_size_mib] -interface [dict get $spindle flash_interface] \
    -loadbit "up $offset $bit" $mcs
say "$bit and $mcs are written"
