# KC705: configuration. Generated from boards/kc705/board.toml; edit that file instead.
set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 2.5 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]

# KC705: pins. Generated from boards/kc705/board.toml; edit that file instead.

# Group board.
set_property -dict {PACKAGE_PIN AD12 IOSTANDARD LVDS} [get_ports {board_clk_p}]
set_property -dict {PACKAGE_PIN AD11 IOSTANDARD LVDS} [get_ports {board_clk_n}]
set_property -dict {PACKAGE_PIN AB8 IOSTANDARD LVCMOS15 DRIVE 8 SLEW SLOW} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AA8 IOSTANDARD LVCMOS15 DRIVE 8 SLEW SLOW} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN AC9 IOSTANDARD LVCMOS15 DRIVE 8 SLEW SLOW} [get_ports {led[2]}]
set_property -dict {PACKAGE_PIN AB9 IOSTANDARD LVCMOS15 DRIVE 8 SLEW SLOW} [get_ports {led[3]}]
set_property -dict {PACKAGE_PIN AE26 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {led[4]}]
set_property -dict {PACKAGE_PIN G19 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {led[5]}]
set_property -dict {PACKAGE_PIN E18 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {led[6]}]
set_property -dict {PACKAGE_PIN F16 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {led[7]}]
set_property -dict {PACKAGE_PIN K21 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {i2c_scl}]
set_property -dict {PACKAGE_PIN L21 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {i2c_sda}]
set_property -dict {PACKAGE_PIN P23 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {i2c_mux_reset_n}]
set_property -dict {PACKAGE_PIN AE20 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {si5324_reset_n}]
set_property -dict {PACKAGE_PIN L8} [get_ports {sfp_refclk_p}]
set_property -dict {PACKAGE_PIN L7} [get_ports {sfp_refclk_n}]

# Group pcie.
set_property -dict {PACKAGE_PIN G25 IOSTANDARD LVCMOS25 PULLTYPE PULLUP} [get_ports {pcie_perst_n}]
set_property -dict {PACKAGE_PIN U8} [get_ports {pcie_refclk_p}]
set_property -dict {PACKAGE_PIN U7} [get_ports {pcie_refclk_n}]
set_property -dict {PACKAGE_PIN M6} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN M5} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN L4} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN L3} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN P6} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN P5} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN M2} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN M1} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN R4} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN R3} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN N4} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN N3} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN T6} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN T5} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN P2} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN P1} [get_ports {pcie_tx_n[3]}]

# Group sfp0.
set_property -dict {PACKAGE_PIN Y20 IOSTANDARD LVCMOS25 DRIVE 8 SLEW SLOW} [get_ports {sfp0_tx_disable_n}]
set_property -dict {PACKAGE_PIN P19 IOSTANDARD LVCMOS25} [get_ports {sfp0_los}]
set_property -dict {PACKAGE_PIN G4} [get_ports {sfp0_rx_p}]
set_property -dict {PACKAGE_PIN G3} [get_ports {sfp0_rx_n}]
set_property -dict {PACKAGE_PIN H2} [get_ports {sfp0_tx_p}]
set_property -dict {PACKAGE_PIN H1} [get_ports {sfp0_tx_n}]

# KC705: clocks and crossings. Generated from boards/kc705/board.toml; edit that file instead.

# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.
create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p}]
create_clock -name board_clk -period 5.000 [get_ports {board_clk_p}]
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
set_false_path -to [get_ports {i2c_scl}]
set_false_path -from [get_ports {i2c_scl}]
set_false_path -to [get_ports {i2c_sda}]
set_false_path -from [get_ports {i2c_sda}]
set_false_path -to [get_ports {i2c_mux_reset_n}]
set_false_path -to [get_ports {si5324_reset_n}]
set_false_path -from [get_ports {pcie_perst_n}]
set_false_path -to [get_ports {sfp0_tx_disable_n}]
set_false_path -from [get_ports {sfp0_los}]

# Crossings.
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 6.400
set_bus_skew -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 6.400
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcs0/coreclk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}] 6.400
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {pcie7/user_clk_out}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}] 6.400
