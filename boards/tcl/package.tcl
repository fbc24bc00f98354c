# Packs the NIC as an IP for block designs (IP-XACT, component.xml): vivado -mode batch -source package.tcl -tclargs -out ip_repo

source [file join [file dirname [file normalize [info script]]] common.tcl]
need nic.tcl

set options [arguments {
    out ip_repo {folder of the IP: add it to the IP repositories of a project}
}]
set out [file normalize [dict get $options out]]
if {[file exists [file join $out component.xml]]} {
    stop "$out has a component.xml already; give another folder, or delete that one"
}
if {[llength [get_parts -quiet [dict get $nic part]]] == 0} {
    stop "this Vivado has no part [dict get $nic part]; put one that it has into nic.tcl: the packed NIC fits every part"
}
file mkdir $out
create_project -in_memory -part [dict get $nic part]
set sources {}
foreach name [dict get $nic rtl] {
    lappend sources [file join $here rtl $name]
}
add_files $sources
add_files [file join $here nic_ip.v]
set_property top nic_ip [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $out -vendor spindle -library nic -taxonomy /Communication_&_Networking -import_files \
    -set_current true
set core [ipx::current_core]
set_property name spindle_nic $core
set_property version [dict get $nic version] $core
set_property display_name "Spindle NIC ([dict get $nic configuration])" $core
set_property description {NIC with sPIN handlers and RVMA mailboxes} $core
set_property supported_families {kintexuplus Production virtexuplus Production virtexuplusHBM Production kintex7 Production} $core

# The interfaces come from the attributes beside the ports; a missing one would be found only in a block design.
set found {}
foreach bus [ipx::get_bus_interfaces -of_objects $core] {
    lappend found [get_property NAME $bus]
}
foreach bus {rx tx bar host clock reset} {
    if {$bus ni $found} {
        stop "Vivado did not find the interface `$bus` of the NIC; it found [join $found {, }]"
    }
}

# The registers as seen from the slave `bar`, and what the master `host` reaches. Some versions of Vivado have made both.
set map [ipx::get_memory_maps -quiet bar -of_objects $core]
if {$map eq ""} {
    set map [ipx::add_memory_map bar $core]
}
set block [lindex [ipx::get_address_blocks -quiet -of_objects $map] 0]
if {$block eq ""} {
    set block [ipx::add_address_block registers $map]
}
set_property range [dict get $nic bar_bytes] $block
set_property usage register $block
set_property slave_memory_map_ref bar [ipx::get_bus_interfaces bar -of_objects $core]
set space [ipx::get_address_spaces -quiet host -of_objects $core]
if {$space eq ""} {
    set space [ipx::add_address_space host $core]
}
set_property range 16E $space
set_property width 64 $space
set_property master_address_space_ref host [ipx::get_bus_interfaces host -of_objects $core]
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
say "$out has the IP spindle_nic"
