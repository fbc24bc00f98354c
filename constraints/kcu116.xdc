# KCU116: configuration. Generated from boards/kcu116/board.toml; edit that file instead.
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]

# KCU116: pins. Generated from boards/kcu116/board.toml; edit that file instead.

# Group board.
set_property -dict {PACKAGE_PIN G12 IOSTANDARD LVDS_25} [get_ports {board_clk_p}]
set_property -dict {PACKAGE_PIN F12 IOSTANDARD LVDS_25} [get_ports {board_clk_n}]
set_property -dict {PACKAGE_PIN C9 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN D9 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN E10 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[2]}]
set_property -dict {PACKAGE_PIN E11 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[3]}]
set_property -dict {PACKAGE_PIN F9 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[4]}]
set_property -dict {PACKAGE_PIN F10 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[5]}]
set_property -dict {PACKAGE_PIN G9 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[6]}]
set_property -dict {PACKAGE_PIN G10 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {led[7]}]
set_property -dict {PACKAGE_PIN M7} [get_ports {sfp_refclk_p}]
set_property -dict {PACKAGE_PIN M6} [get_ports {sfp_refclk_n}]

# Group pcie.
set_property -dict {PACKAGE_PIN T19 IOSTANDARD LVCMOS18 PULLTYPE PULLUP} [get_ports {pcie_perst_n}]
set_property -dict {PACKAGE_PIN V7} [get_ports {pcie_refclk_p}]
set_property -dict {PACKAGE_PIN V6} [get_ports {pcie_refclk_n}]
set_property -dict {PACKAGE_PIN P2} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN P1} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN R5} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN R4} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN T2} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN T1} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN U5} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN U4} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN V2} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN V1} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN W5} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN W4} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN Y2} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN Y1} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN AA5} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN AA4} [get_ports {pcie_tx_n[3]}]
set_property -dict {PACKAGE_PIN AB2} [get_ports {pcie_rx_p[4]}]
set_property -dict {PACKAGE_PIN AB1} [get_ports {pcie_rx_n[4]}]
set_property -dict {PACKAGE_PIN AC5} [get_ports {pcie_tx_p[4]}]
set_property -dict {PACKAGE_PIN AC4} [get_ports {pcie_tx_n[4]}]
set_property -dict {PACKAGE_PIN AD2} [get_ports {pcie_rx_p[5]}]
set_property -dict {PACKAGE_PIN AD1} [get_ports {pcie_rx_n[5]}]
set_property -dict {PACKAGE_PIN AD7} [get_ports {pcie_tx_p[5]}]
set_property -dict {PACKAGE_PIN AD6} [get_ports {pcie_tx_n[5]}]
set_property -dict {PACKAGE_PIN AE4} [get_ports {pcie_rx_p[6]}]
set_property -dict {PACKAGE_PIN AE3} [get_ports {pcie_rx_n[6]}]
set_property -dict {PACKAGE_PIN AE9} [get_ports {pcie_tx_p[6]}]
set_property -dict {PACKAGE_PIN AE8} [get_ports {pcie_tx_n[6]}]
set_property -dict {PACKAGE_PIN AF2} [get_ports {pcie_rx_p[7]}]
set_property -dict {PACKAGE_PIN AF1} [get_ports {pcie_rx_n[7]}]
set_property -dict {PACKAGE_PIN AF7} [get_ports {pcie_tx_p[7]}]
set_property -dict {PACKAGE_PIN AF6} [get_ports {pcie_tx_n[7]}]

# Group sfp0.
set_property -dict {PACKAGE_PIN AB14 IOSTANDARD LVCMOS33 DRIVE 8 SLEW SLOW} [get_ports {sfp0_tx_disable_n}]
set_property -dict {PACKAGE_PIN M2} [get_ports {sfp0_rx_p}]
set_property -dict {PACKAGE_PIN M1} [get_ports {sfp0_rx_n}]
set_property -dict {PACKAGE_PIN N5} [get_ports {sfp0_tx_p}]
set_property -dict {PACKAGE_PIN N4} [get_ports {sfp0_tx_n}]

# KCU116: clocks and crossings. Generated from boards/kcu116/board.toml; edit that file instead.

# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.
create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p}]
create_clock -name board_clk -period 8.000 [get_ports {board_clk_p}]
create_clock -name sfp_refclk -period 6.400 [get_ports {sfp_refclk_p}]

# Pins without a clock.
set_false_path -to [get_ports {led[0]}]
set_false_path -to [get_ports {led[1]}]
set_false_path -to [get_ports {led[2]}]
set_false_path -to [get_ports {led[3]}]
set_false_path -to [get_ports {led[4]}]
set_false_path -to [get_ports {led[5]}]
set_false_path -to [get_ports {led[6]}]
set_false_path -to [get_ports {led[7]}]
set_false_path -from [get_ports {pcie_perst_n}]
set_false_path -to [get_ports {sfp0_tx_disable_n}]

# Crossings.
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 6.400
# core_clk to mac_rx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 6.400
# core_clk to mac_rx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}] 6.400
# core_clk to mac_rx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 6.400
# mac_rx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}] 6.400
# core_clk to mac_rx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}] 6.400
# core_clk to mac_rx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 6.400
# mac_tx_clk to core_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_tx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}] 6.400
# core_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {core_clk_bufg/O}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}] 6.400
# mac_rx_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */mac/local_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */mac/local_near*}] 6.400
# mac_rx_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */mac/remote_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */mac/remote_near*}] 6.400
# mac_rx_clk to mac_tx_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */sending/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */sending/near*}] 6.400
# mac_rx_clk to board_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */watch/lock/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {gty0/gtwiz_userclk_rx_usrclk2_out}]] -to [get_cells -hierarchical -filter {NAME =~ */watch/lock/near*}] 6.400
