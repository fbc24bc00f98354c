# Out-of-context constraints of the NIC top: one clock, everything else follows from it.
create_clock -name core -period 4.000 [get_ports clock]
set_property HD.CLK_SRC BUFGCTRL_X0Y0 [get_ports clock]
