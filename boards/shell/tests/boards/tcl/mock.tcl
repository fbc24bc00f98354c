# A Vivado that builds nothing: it knows the commands that the scripts use, refuses every other word, and writes down the
# commands. A test says what the catalogue and the machine have, and what goes wrong, in the array `fake`.

proc note {args} {
    # A list over several lines is one line here.
    regsub -all {\s+} [join $args " "] { } line
    puts $::transcript [string trim $line]
}

# Flags and options of a command: name, and whether a value follows. What is left are words.
proc options_of {command known arguments} {
    set found [dict create words {}]
    while {[llength $arguments]} {
        set arguments [lassign $arguments word]
        if {[string match -* $word] && ![string is double -strict $word]} {
            if {![dict exists $known $word]} {
                error "$command has no option $word"
            }
            if {[dict get $known $word]} {
                if {![llength $arguments]} {
                    error "$command $word needs a value"
                }
                set arguments [lassign $arguments value]
                dict set found $word $value
            } else {
                dict set found $word 1
            }
        } else {
            dict lappend found words $word
        }
    }
    return $found
}

# A command that is only written down. `known`: its options, as above.
proc plain_command {name known} {
    proc $name {args} [string map [list NAME $name KNOWN [list $known]] {
        options_of NAME KNOWN $args
        note NAME {*}$args
        fail_if NAME
    }]
}

proc fail_if {what} {
    if {[info exists ::fake(fails,$what)]} {
        error $::fake(fails,$what)
    }
}

foreach {name known} {
    set_param {}
    opt_design {}
    place_design {}
    phys_opt_design {}
    route_design {}
    read_verilog {-sv 0}
    read_xdc {-mode 1}
    add_files {}
    update_compile_order {-fileset 1}
    synth_design {-top 1 -part 1 -mode 1}
    report_utilization {-hierarchical 0 -hierarchical_depth 1 -file 1}
    report_clock_interaction {-file 1}
    report_cdc {-details 0 -file 1}
    report_pulse_width {-all_violators 0 -file 1}
    report_drc {-file 1}
    report_methodology {-file 1}
    report_io {-file 1}
    write_checkpoint {-force 0}
    write_bitstream {-force 0}
    write_cfgmem {-force 0 -format 1 -size 1 -interface 1 -loadbit 1}
    open_hw_manager {}
    close_hw_manager {}
    connect_hw_server {-url 1}
    open_hw_target {}
    refresh_hw_device {}
    program_hw_devices {}
    program_hw_cfgmem {-hw_cfgmem 1}
    boot_hw_device {}
    create_hw_cfgmem {-hw_device 1}
    create_hw_bitstream {-hw_device 1}
    ipx::package_project {-root_dir 1 -vendor 1 -library 1 -taxonomy 1 -import_files 0 -set_current 1}
    ipx::update_checksums {}
    ipx::check_integrity {}
    ipx::save_core {}
} {
    if {[string match ipx::* $name]} {
        namespace eval ipx {}
    }
    plain_command $name $known
}

# Files that are read must be there.
foreach name {read_verilog read_xdc add_files} {
    trace add execution $name enter [list apply {{call operation} {
        foreach word [lrange $call 1 end] {
            foreach path $word {
                if {[string match */* $path] && ![file exists $path]} {
                    error "$path is missing"
                }
            }
        }
    }}]
}

proc create_project {args} {
    set options [options_of create_project {-in_memory 0 -part 1} $args]
    if {[dict get $options -part] ni $::fake(parts)} {
        error "the part [dict get $options -part] is not installed"
    }
    note create_project {*}$args
}

proc current_project {} { return project }
proc current_fileset {} { return sources_1 }

# The catalogue: `fake(ip,NAME)` is the version, `fake(settings,NAME)` the names, `fake(stub,MODULE)` the ports.
proc get_ipdefs {args} {
    set filter [dict get [options_of get_ipdefs {-all 0 -filter 1} $args] -filter]
    if {![regexp {^NAME == (\w+)$} $filter whole name]} {
        error "the filter $filter is not known"
    }
    if {[info exists ::fake(ip,$name)]} {
        return xilinx.com:ip:$name:$::fake(ip,$name)
    }
}

proc create_ip {args} {
    set options [options_of create_ip {-name 1 -vendor 1 -library 1 -module_name 1 -dir 1} $args]
    set name [dict get $options -name]
    if {![info exists ::fake(ip,$name)]} {
        error "there is no IP $name"
    }
    set module [dict get $options -module_name]
    set ::modules($module) $name
    set ::folders($module) [file join [dict get $options -dir] $module]
    if {![file isdirectory [dict get $options -dir]]} {
        error "the folder [dict get $options -dir] is missing"
    }
    if {[file exists $::folders($module)]} {
        error "the IP $module is there already"
    }
    file mkdir $::folders($module)
    note create_ip {*}$args
}

proc get_ips {module} {
    if {![info exists ::modules($module)]} {
        error "there is no IP instance $module"
    }
    return $module
}

proc list_property {module} {
    return [list NAME IPDEF {*}$::fake(settings,$::modules($module))]
}

proc set_property {args} {
    if {[lindex $args 0] eq "-dict"} {
        lassign $args dash values object
    } else {
        lassign $args name value object
        set values [list $name $value]
    }
    foreach {name value} $values {
        if {[info exists ::modules($object)]} {
            if {[string tolower $name] ni [string tolower $::fake(settings,$::modules($object))]} {
                error "$object has no property $name"
            }
            set ::values($object,$name) $value
            if {[info exists ::fake(changes,$name)]} {
                set ::values($object,$name) $::fake(changes,$name)
            }
        }
    }
    note set_property {*}$args
    fail_if set_property
}

proc get_property {name object} {
    switch -glob $object,$name {
        *,IPDEF { return xilinx.com:ip:$::modules($object):$::fake(ip,$::modules($object)) }
        *,CONFIG.* { return $::values($object,$name) }
        *,IP_OUTPUT_DIR { return $::folders($object) }
        clock_*,PERIOD { return $::fake(clock,[string range $object 6 end]) }
        path_*,SLACK { return $::fake(slack,$object) }
        *,PART { return $::fake(device,$object) }
        *,PROGRAM.HW_CFGMEM { return cfgmem_1 }
        *,PROGRAM.HW_CFGMEM_BITFILE { return bitfile_1 }
        bus_*,NAME { return [string range $object 4 end] }
    }
    error "$object has no property $name"
}

proc generate_target {what module} {
    note generate_target $what $module
    fail_if generate_target
}

# Writes the stub, as Vivado does beside a synthesised IP.
proc synth_ip {module} {
    note synth_ip $module
    fail_if synth_ip
    if {[info exists ::fake(no_stub)]} {
        return
    }
    set channel [open [file join $::folders($module) ${module}_stub.v] w]
    set names {}
    set lines {}
    foreach {name port} $::fake(stub,$module) {
        lassign $port direction width
        set range [expr {$width == 1 ? "" : "\[[expr {$width - 1}]:0\]"}]
        lappend names $name
        lappend lines "  $direction $range$name /* synthesis syn_isclock = 1 */;"
    }
    puts $channel "// a stub\n(* X_CORE_INFO = \"any,words input a\" *)\nmodule ${module}([join $names {, }])"
    puts $channel "/* synthesis syn_black_box black_box_pad_pin=\"[join $names ,]\" */;\n[join $lines \n]\nendmodule"
    close $channel
}

# Reports that the script reads: the summary as Vivado lays it out, and the verdict on each skew.
proc report_timing_summary {args} {
    set options [options_of report_timing_summary {-max_paths 1 -report_unconstrained 0 -file 1} $args]
    note report_timing_summary {*}$args
    set channel [open [dict get $options -file] w]
    puts $channel "| Design Timing Summary\n"
    if {[info exists ::fake(slack,pulse)]} {
        puts $channel "  WNS(ns)  TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints  WHS(ns)  THS(ns)  THS Failing Endpoints\
            THS Total Endpoints  WPWS(ns)  TPWS(ns)  TPWS Failing Endpoints  TPWS Total Endpoints  "
        puts $channel "  -------  -------  ---  ---  -------  -------  ---  ---  --------  --------  ---  ---  "
        puts $channel "    0.047    0.000    0  587    0.038    0.000    0  587    $::fake(slack,pulse)  0.000    0  417  \n"
    }
    close $channel
}

proc report_bus_skew {args} {
    set options [options_of report_bus_skew {-file 1} $args]
    note report_bus_skew {*}$args
    set channel [open [dict get $options -file] w]
    puts $channel "  Slack ($::fake(skew)) : 0.100ns"
    close $channel
}

# The netlist: `fake(clock,PIN)` is the period at a pin, `fake(cells)` the names of registers.
proc get_pins {args} {
    set pin [dict get [options_of get_pins {-quiet 0} $args] words]
    return [expr {[info exists ::fake(clock,$pin)] ? "pin_$pin" : ""}]
}

proc get_clocks {args} {
    set pin [dict get [options_of get_clocks {-quiet 0 -of_objects 1} $args] -of_objects]
    return [expr {$pin eq "" ? "" : "clock_[string range $pin 4 end]"}]
}

proc get_cells {args} {
    set filter [dict get [options_of get_cells {-quiet 0 -hierarchical 0 -filter 1} $args] -filter]
    if {![regexp {^NAME =~ (\S+)$} $filter whole pattern]} {
        error "the filter $filter is not known"
    }
    return [lsearch -all -inline -glob $::fake(cells) $pattern]
}

proc get_parts {args} {
    return [lsearch -all -inline -exact $::fake(parts) [dict get [options_of get_parts {-quiet 0} $args] words]]
}

proc get_timing_paths {args} {
    set options [options_of get_timing_paths {-delay_type 1 -max_paths 1 -nworst 1} $args]
    set path path_[dict get $options -delay_type]
    if {![info exists ::fake(slack,$path)]} {
        return {}
    }
    return $path
}

proc get_hw_targets {args} {
    options_of get_hw_targets {-quiet 0} $args
    return $::fake(cables)
}

proc get_hw_devices {} {
    set names {}
    foreach name [lsort [array names ::fake device,*]] {
        lappend names [string range $name 7 end]
    }
    return $names
}

proc current_hw_device {args} {
    if {[llength $args]} {
        set ::current [lindex $args 0]
        note current_hw_device {*}$args
    }
    return $::current
}

proc get_cfgmem_parts {name} {
    return [lsearch -all -inline -exact $::fake(memories) $name]
}

proc ipx::current_core {} { return core_1 }
proc ipx::get_bus_interfaces {args} {
    set words [dict get [options_of ipx::get_bus_interfaces {-of_objects 1} $args] words]
    set buses {}
    foreach bus [expr {[llength $words] ? $words : $::fake(buses)}] {
        lappend buses bus_$bus
    }
    return $buses
}
# As after ipx::package_project: a map of an AXI slave is there already in some versions, `fake(maps)`.
proc ipx::get_memory_maps {args} {
    set name [dict get [options_of ipx::get_memory_maps {-quiet 0 -of_objects 1} $args] words]
    return [expr {$name in $::fake(maps) ? "map_$name" : ""}]
}
proc ipx::get_address_blocks {args} {
    set map [dict get [options_of ipx::get_address_blocks {-quiet 0 -of_objects 1} $args] -of_objects]
    return [expr {[string range $map 4 end] in $::fake(maps) ? "block_reg0" : ""}]
}
proc ipx::get_address_spaces {args} {
    set name [dict get [options_of ipx::get_address_spaces {-quiet 0 -of_objects 1} $args] words]
    return [expr {$name in $::fake(maps) ? "space_$name" : ""}]
}
proc ipx::add_address_space {name core} {
    note ipx::add_address_space $name $core
    return space_$name
}
proc ipx::add_memory_map {name core} {
    note ipx::add_memory_map $name $core
    return map_1
}
proc ipx::add_address_block {name map} {
    note ipx::add_address_block $name $map
    return block_1
}
