# What the scripts of this folder share. Each is started as `vivado -mode batch -source SCRIPT.tcl -tclargs -NAME VALUE ...`.

set here [file dirname [file normalize [info script]]]

# Ends the script with a sentence; Vivado then exits with an error.
proc stop {sentence} {
    error "spindle: $sentence"
}

proc say {sentence} {
    puts "spindle: $sentence"
}

# The arguments `-name value` of the command line, over the defaults of `known` (name, default, meaning, ...).
proc arguments {known} {
    set names {}
    set values [dict create]
    foreach {name default meaning} $known {
        lappend names -$name
        dict set values $name $default
    }
    if {![info exists ::argv]} {
        return $values
    }
    if {[llength $::argv] % 2} {
        stop "each argument is a name and a value; the names are [join $names {, }]"
    }
    foreach {name value} $::argv {
        if {$name ni $names} {
            stop "there is no argument `$name`; the names are [join $names {, }]"
        }
        dict set values [string range $name 1 end] $value
    }
    return $values
}

# Sources a file of this folder, and says what is wrong if it is not there.
proc need {name} {
    set path [file join $::here $name]
    if {![file exists $path]} {
        stop "$path is missing; write the folder anew with `spindle export`"
    }
    uplevel #0 [list source $path]
}

# Ends a script that needs the top of a board that has none yet.
proc need_top {} {
    if {[dict get $::spindle top] eq ""} {
        stop "this folder has no top for the [dict get $::spindle title]: it has the NIC and the IP, and no bitstream comes of\
            it. `-step check` and `-step ooc` of build.tcl work, and package.tcl"
    }
}

# Runs a command of Vivado. A missing licence is said as such: `cure` is what helps.
proc licensed {what cure command} {
    if {![catch {uplevel 1 $command} problem]} {
        return $problem
    }
    if {[regexp -nocase {licen[cs]e} $problem]} {
        stop "$what needs a licence that is not installed: $cure. Vivado says: $problem"
    }
    stop "$what failed: $problem"
}

# Whether a device of the cable can be the part. The cable knows the die, not the package: xc7k325t. It names dies that several
# Alveo cards have by all of them: xcu280_u55c.
proc is_part {device part} {
    set part [string tolower $part]
    if {![regexp {^xc7[a-z]\d+t?} $part short]} {
        set short [lindex [split $part -] 0]
    }
    foreach name [split [string tolower [get_property PART $device]] _] {
        if {$short in [list $name xc$name]} {
            return 1
        }
    }
    return 0
}

# Opens the hardware server, and makes the device of this board the current one. `cable` and `name` choose among several.
proc open_device {url cable name part} {
    open_hw_manager
    if {[catch {connect_hw_server -url $url} problem]} {
        stop "the hardware server $url does not answer; start hw_server there, or give -hw_server HOST:PORT ($problem)"
    }
    set cables [get_hw_targets -quiet]
    set chosen [lsearch -all -inline -glob $cables *$cable]
    if {[llength $chosen] != 1} {
        stop "[llength $chosen] cables of $url are meant, and one is needed; connect it and switch the board on, or choose\
            with -cable SERIAL among: [join $cables {, }]"
    }
    if {[catch {open_hw_target [lindex $chosen 0]} problem]} {
        stop "the cable [lindex $chosen 0] has no device; switch the board on, and end other users of the cable ($problem)"
    }
    set found {}
    foreach device [get_hw_devices] {
        if {[is_part $device $part] && ($name eq "" || $name eq $device)} {
            lappend found $device
        }
    }
    if {[llength $found] != 1} {
        stop "[llength $found] devices of the cable are a $part, and one is needed; choose with -device among:\
            [join [get_hw_devices] {, }]"
    }
    # A bitstream of another card drives the wrong pins, and leaves the temperature trip undriven.
    set die [get_property PART [lindex $found 0]]
    if {$name eq "" && [string first _ $die] >= 0} {
        stop "the cable cannot distinguish the cards with the die $die; look at the card, and if it is the one that\
            settings.tcl names, give -device [lindex $found 0]"
    }
    current_hw_device [lindex $found 0]
    refresh_hw_device [current_hw_device]
    return [current_hw_device]
}
