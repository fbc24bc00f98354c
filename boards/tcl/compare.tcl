# Makes the IP of ip.tcl, and compares what Vivado made with the table: names and values of settings, then ports. build.tcl
# sources the file.

# Settings as they compare: IPs write numbers in their own way.
proc plain {value} {
    set value [string tolower [string trim $value]]
    regsub {^0x0*(?=.)} $value {} value
    regsub {^0+(?=[0-9a-f]+$)} $value {} value
    if {[string is double -strict $value]} {
        regsub {(\.[0-9]*?)0+$} $value {\1} value
        regsub {\.$} $value {} value
    }
    return $value
}

# Direction and width of each port in the stub that Vivado writes beside a synthesised IP.
proc ports_of_stub {path} {
    set text [text_of $path]
    regsub -all {//[^\n]*} $text {} text
    regsub -all {/\*.*?\*/} $text {} text
    regsub -all {\(\*.*?\*\)} $text {} text
    set ports [dict create]
    set range {(?:\[\s*(\d+)\s*:\s*(\d+)\s*\]\s*)?}
    set names {([A-Za-z_]\w*(?:\s*,\s*(?!input|output|inout)[A-Za-z_]\w*)*)}
    set pattern "\\m(input|output|inout)\\s+(?:wire\\s+|reg\\s+)?$range$names"
    foreach {whole direction high low names} [regexp -all -inline $pattern $text] {
        set width [expr {$high eq "" ? 1 : abs($high - $low) + 1}]
        foreach name [split $names ,] {
            dict set ports [string trim $name] [list $direction $width]
        }
    }
    return $ports
}

proc find_file {folder name} {
    foreach path [glob -nocomplain -directory $folder *] {
        if {[file isdirectory $path]} {
            set found [find_file $path $name]
            if {$found ne ""} {
                return $found
            }
        } elseif {[file tail $path] eq $name} {
            return $path
        }
    }
    return ""
}

# Ends the script with the differences, or only shows them.
proc differ {module lines} {
    if {[llength $lines] == 0} {
        return
    }
    set list [join $lines "\n  "]
    incr ::differences [llength $lines]
    if {[dict get $::options differences] eq "show"} {
        say "$module differs from ip.tcl:\n  $list"
        return
    }
    stop "$module differs from ip.tcl, so the design would not work as it was checked:\n  $list\nSend this list to the project;\
        -differences show goes on all the same"
}

# Makes one IP with its settings. What the IP does not know, or changes, is a difference.
proc make_ip {module} {
    set ip [dict get $::spindle_ip $module]
    set name [dict get $ip name]
    set found [get_ipdefs -all -filter "NAME == $name"]
    if {[llength $found] == 0} {
        stop "this Vivado has no IP `$name`; install it with the device family of [dict get $::spindle part]"
    }
    create_ip -name $name -vendor xilinx.com -library ip -module_name $module -dir $::ip_folder
    set version [lindex [split [get_property IPDEF [get_ips $module]] :] end]
    if {$version ni [dict get $ip versions]} {
        say "$module: version $version of $name; the table was taken from [join [dict get $ip versions] {, }]"
    }
    # Names of properties are the same in capitals and small letters, and versions of Vivado differ in them.
    set known [string tolower [list_property [get_ips $module]]]
    set differences {}
    foreach group [dict get $ip settings] {
        foreach {setting value} $group {
            if {[string tolower $setting] ni $known} {
                lappend differences "the IP has no setting $setting"
            }
        }
    }
    differ $module $differences
    set values [dict create]
    foreach group [dict get $ip settings] {
        set group [dict filter $group script {setting value} {expr {[string tolower $setting] in $known}}]
        if {[catch {set_property -dict $group [get_ips $module]} problem]} {
            stop "$module refuses its settings: $problem"
        }
        set values [dict merge $values $group]
    }
    set differences {}
    dict for {setting value} $values {
        set now [get_property $setting [get_ips $module]]
        if {[plain $now] ne [plain $value]} {
            lappend differences "$setting was set to `$value` and is `$now`"
        }
    }
    differ $module $differences
}

# Synthesises one IP and compares its ports.
proc check_ports {module} {
    set ip [dict get $::spindle_ip $module]
    set cure [dict get $ip licence]
    if {$cure eq ""} {
        set cure "see which one Vivado names"
    }
    licensed "the synthesis of $module" $cure {
        generate_target all [get_ips $module]
        synth_ip [get_ips $module]
    }
    # Versions of Vivado differ in where a project in memory keeps what an IP makes.
    set folder [get_property IP_OUTPUT_DIR [get_ips $module]]
    set stub [find_file $folder ${module}_stub.v]
    if {$stub eq ""} {
        set stub [find_file $::out ${module}_stub.v]
    }
    if {$stub eq ""} {
        stop "Vivado wrote no ${module}_stub.v below $folder, so the ports of $module cannot be compared"
    }
    set real [ports_of_stub $stub]
    set differences {}
    dict for {port expected} [dict get $ip ports] {
        if {![dict exists $real $port]} {
            lappend differences "the IP has no port $port"
        } elseif {[dict get $real $port] ne $expected} {
            lappend differences "$port is [dict get $real $port] bits in the IP and $expected bits in the table"
        }
    }
    set others 0
    dict for {port found} $real {
        if {[dict exists $ip ports $port]} {
            continue
        }
        if {[lindex $found 0] eq "output"} {
            incr others
        } else {
            lappend differences "the table has no port $port, an [lindex $found 0] of [lindex $found 1] bits"
        }
    }
    say "$module: [dict size $real] ports, $others outputs of which are not used"
    differ $module $differences
}
