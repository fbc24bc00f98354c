# Alveo U250: configuration. Generated from boards/u250/board.toml; edit that file instead.
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.CONFIGFALLBACK ENABLE [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 63.8 [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN DISABLE [current_design]
set_property BITSTREAM.CONFIG.OVERTEMPSHUTDOWN ENABLE [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_operating_conditions -design_power_budget 160

# Alveo U250: pins. Generated from boards/u250/board.toml; edit that file instead.

# Group board.
set_property -dict {PACKAGE_PIN AU19 IOSTANDARD LVDS} [get_ports {board_clk_p}]
set_property -dict {PACKAGE_PIN AV19 IOSTANDARD LVDS} [get_ports {board_clk_n}]
set_property -dict {PACKAGE_PIN BB19 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {sc_uart_txd}]
set_property -dict {PACKAGE_PIN BC21 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN BB21 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN BA20 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {led[2]}]

# Group pcie.
set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLTYPE PULLUP} [get_ports {pcie_perst_n}]
set_property -dict {PACKAGE_PIN AM11} [get_ports {pcie_refclk_p}]
set_property -dict {PACKAGE_PIN AM10} [get_ports {pcie_refclk_n}]
set_property -dict {PACKAGE_PIN AF2} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN AF1} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN AF7} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN AF6} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN AG4} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN AG3} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN AG9} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN AG8} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN AH2} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN AH1} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN AH7} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN AH6} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN AJ4} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN AJ3} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN AJ9} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN AJ8} [get_ports {pcie_tx_n[3]}]
set_property -dict {PACKAGE_PIN AK2} [get_ports {pcie_rx_p[4]}]
set_property -dict {PACKAGE_PIN AK1} [get_ports {pcie_rx_n[4]}]
set_property -dict {PACKAGE_PIN AK7} [get_ports {pcie_tx_p[4]}]
set_property -dict {PACKAGE_PIN AK6} [get_ports {pcie_tx_n[4]}]
set_property -dict {PACKAGE_PIN AL4} [get_ports {pcie_rx_p[5]}]
set_property -dict {PACKAGE_PIN AL3} [get_ports {pcie_rx_n[5]}]
set_property -dict {PACKAGE_PIN AL9} [get_ports {pcie_tx_p[5]}]
set_property -dict {PACKAGE_PIN AL8} [get_ports {pcie_tx_n[5]}]
set_property -dict {PACKAGE_PIN AM2} [get_ports {pcie_rx_p[6]}]
set_property -dict {PACKAGE_PIN AM1} [get_ports {pcie_rx_n[6]}]
set_property -dict {PACKAGE_PIN AM7} [get_ports {pcie_tx_p[6]}]
set_property -dict {PACKAGE_PIN AM6} [get_ports {pcie_tx_n[6]}]
set_property -dict {PACKAGE_PIN AN4} [get_ports {pcie_rx_p[7]}]
set_property -dict {PACKAGE_PIN AN3} [get_ports {pcie_rx_n[7]}]
set_property -dict {PACKAGE_PIN AN9} [get_ports {pcie_tx_p[7]}]
set_property -dict {PACKAGE_PIN AN8} [get_ports {pcie_tx_n[7]}]
set_property -dict {PACKAGE_PIN AP2} [get_ports {pcie_rx_p[8]}]
set_property -dict {PACKAGE_PIN AP1} [get_ports {pcie_rx_n[8]}]
set_property -dict {PACKAGE_PIN AP7} [get_ports {pcie_tx_p[8]}]
set_property -dict {PACKAGE_PIN AP6} [get_ports {pcie_tx_n[8]}]
set_property -dict {PACKAGE_PIN AR4} [get_ports {pcie_rx_p[9]}]
set_property -dict {PACKAGE_PIN AR3} [get_ports {pcie_rx_n[9]}]
set_property -dict {PACKAGE_PIN AR9} [get_ports {pcie_tx_p[9]}]
set_property -dict {PACKAGE_PIN AR8} [get_ports {pcie_tx_n[9]}]
set_property -dict {PACKAGE_PIN AT2} [get_ports {pcie_rx_p[10]}]
set_property -dict {PACKAGE_PIN AT1} [get_ports {pcie_rx_n[10]}]
set_property -dict {PACKAGE_PIN AT7} [get_ports {pcie_tx_p[10]}]
set_property -dict {PACKAGE_PIN AT6} [get_ports {pcie_tx_n[10]}]
set_property -dict {PACKAGE_PIN AU4} [get_ports {pcie_rx_p[11]}]
set_property -dict {PACKAGE_PIN AU3} [get_ports {pcie_rx_n[11]}]
set_property -dict {PACKAGE_PIN AU9} [get_ports {pcie_tx_p[11]}]
set_property -dict {PACKAGE_PIN AU8} [get_ports {pcie_tx_n[11]}]
set_property -dict {PACKAGE_PIN AV2} [get_ports {pcie_rx_p[12]}]
set_property -dict {PACKAGE_PIN AV1} [get_ports {pcie_rx_n[12]}]
set_property -dict {PACKAGE_PIN AV7} [get_ports {pcie_tx_p[12]}]
set_property -dict {PACKAGE_PIN AV6} [get_ports {pcie_tx_n[12]}]
set_property -dict {PACKAGE_PIN AW4} [get_ports {pcie_rx_p[13]}]
set_property -dict {PACKAGE_PIN AW3} [get_ports {pcie_rx_n[13]}]
set_property -dict {PACKAGE_PIN BB5} [get_ports {pcie_tx_p[13]}]
set_property -dict {PACKAGE_PIN BB4} [get_ports {pcie_tx_n[13]}]
set_property -dict {PACKAGE_PIN BA2} [get_ports {pcie_rx_p[14]}]
set_property -dict {PACKAGE_PIN BA1} [get_ports {pcie_rx_n[14]}]
set_property -dict {PACKAGE_PIN BD5} [get_ports {pcie_tx_p[14]}]
set_property -dict {PACKAGE_PIN BD4} [get_ports {pcie_tx_n[14]}]
set_property -dict {PACKAGE_PIN BC2} [get_ports {pcie_rx_p[15]}]
set_property -dict {PACKAGE_PIN BC1} [get_ports {pcie_rx_n[15]}]
set_property -dict {PACKAGE_PIN BF5} [get_ports {pcie_tx_p[15]}]
set_property -dict {PACKAGE_PIN BF4} [get_ports {pcie_tx_n[15]}]

# Group qsfp0.
set_property -dict {PACKAGE_PIN M11} [get_ports {qsfp0_refclk_p}]
set_property -dict {PACKAGE_PIN M10} [get_ports {qsfp0_refclk_n}]
set_property -dict {PACKAGE_PIN BE16 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {qsfp0_modsel_n}]
set_property -dict {PACKAGE_PIN BE17 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {qsfp0_reset_n}]
set_property -dict {PACKAGE_PIN BD18 IOSTANDARD LVCMOS12 DRIVE 8 SLEW SLOW} [get_ports {qsfp0_lpmode}]
set_property -dict {PACKAGE_PIN N4} [get_ports {qsfp0_rx_p[0]}]
set_property -dict {PACKAGE_PIN N3} [get_ports {qsfp0_rx_n[0]}]
set_property -dict {PACKAGE_PIN N9} [get_ports {qsfp0_tx_p[0]}]
set_property -dict {PACKAGE_PIN N8} [get_ports {qsfp0_tx_n[0]}]
set_property -dict {PACKAGE_PIN M2} [get_ports {qsfp0_rx_p[1]}]
set_property -dict {PACKAGE_PIN M1} [get_ports {qsfp0_rx_n[1]}]
set_property -dict {PACKAGE_PIN M7} [get_ports {qsfp0_tx_p[1]}]
set_property -dict {PACKAGE_PIN M6} [get_ports {qsfp0_tx_n[1]}]
set_property -dict {PACKAGE_PIN L4} [get_ports {qsfp0_rx_p[2]}]
set_property -dict {PACKAGE_PIN L3} [get_ports {qsfp0_rx_n[2]}]
set_property -dict {PACKAGE_PIN L9} [get_ports {qsfp0_tx_p[2]}]
set_property -dict {PACKAGE_PIN L8} [get_ports {qsfp0_tx_n[2]}]
set_property -dict {PACKAGE_PIN K2} [get_ports {qsfp0_rx_p[3]}]
set_property -dict {PACKAGE_PIN K1} [get_ports {qsfp0_rx_n[3]}]
set_property -dict {PACKAGE_PIN K7} [get_ports {qsfp0_tx_p[3]}]
set_property -dict {PACKAGE_PIN K6} [get_ports {qsfp0_tx_n[3]}]

# Alveo U250: clocks and crossings. Generated from boards/u250/board.toml; edit that file instead.

# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.
create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p}]
create_clock -name board_clk -period 6.400 [get_ports {board_clk_p}]
create_clock -name qsfp0_refclk -period 6.400 [get_ports {qsfp0_refclk_p}]

# Pins without a clock.
set_false_path -to [get_ports {sc_uart_txd}]
set_false_path -to [get_ports {led[0]}]
set_false_path -to [get_ports {led[1]}]
set_false_path -to [get_ports {led[2]}]
set_false_path -from [get_ports {pcie_perst_n}]
set_false_path -to [get_ports {qsfp0_modsel_n}]
set_false_path -to [get_ports {qsfp0_reset_n}]
set_false_path -to [get_ports {qsfp0_lpmode}]

# Crossings.
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/written/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/fifo/taken/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/asked/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/left/answered/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/asked/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/pair/right/answered/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */rx_cross/clearing/heartbeat/sign/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/written/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/fifo/taken/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/whole/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/asked/near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/left/answered/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/asked/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/pair/right/answered/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */tx_cross/clearing/heartbeat/sign/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */link/near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */link/counts*gray_near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/echo_near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/run_near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */link_reset/ask_near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 3.103
set_bus_skew -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */failures/gray_near*}] 3.103
# mac_user_clk to pcie_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/echo_near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/run_near*}] 3.103
# pcie_user_clk to mac_user_clk
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}]
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {xdma/axi_aclk}]] -to [get_cells -hierarchical -filter {NAME =~ */failures_reset/ask_near*}] 3.103
