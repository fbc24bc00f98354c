# Alveo U280: configuration. Generated from boards/u280/board.toml; edit that file instead.
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.CONFIGFALLBACK ENABLE [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 85.0 [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN DISABLE [current_design]
set_property BITSTREAM.CONFIG.OVERTEMPSHUTDOWN ENABLE [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_operating_conditions -design_power_budget 160

# Alveo U280: pins. Generated from boards/u280/board.toml; edit that file instead.

# Group board.
set_property -dict {PACKAGE_PIN G31 IOSTANDARD LVDS} [get_ports {board_clk_p}]
set_property -dict {PACKAGE_PIN F31 IOSTANDARD LVDS} [get_ports {board_clk_n}]
set_property -dict {PACKAGE_PIN D32 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW PULLTYPE PULLDOWN} [get_ports {hbm_cattrip}]
set_property -dict {PACKAGE_PIN D29 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW} [get_ports {sc_uart_txd}]

# Group pcie.
set_property -dict {PACKAGE_PIN BH26 IOSTANDARD LVCMOS18 PULLTYPE PULLUP} [get_ports {pcie_perst_n}]
set_property -dict {PACKAGE_PIN AR15} [get_ports {pcie_refclk_p}]
set_property -dict {PACKAGE_PIN AR14} [get_ports {pcie_refclk_n}]
set_property -dict {PACKAGE_PIN AL2} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN AL1} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN AL11} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN AL10} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN AM4} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN AM3} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN AM9} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN AM8} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN AN6} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN AN5} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN AN11} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN AN10} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN AN2} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN AN1} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN AP9} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN AP8} [get_ports {pcie_tx_n[3]}]
set_property -dict {PACKAGE_PIN AP4} [get_ports {pcie_rx_p[4]}]
set_property -dict {PACKAGE_PIN AP3} [get_ports {pcie_rx_n[4]}]
set_property -dict {PACKAGE_PIN AR11} [get_ports {pcie_tx_p[4]}]
set_property -dict {PACKAGE_PIN AR10} [get_ports {pcie_tx_n[4]}]
set_property -dict {PACKAGE_PIN AR2} [get_ports {pcie_rx_p[5]}]
set_property -dict {PACKAGE_PIN AR1} [get_ports {pcie_rx_n[5]}]
set_property -dict {PACKAGE_PIN AR7} [get_ports {pcie_tx_p[5]}]
set_property -dict {PACKAGE_PIN AR6} [get_ports {pcie_tx_n[5]}]
set_property -dict {PACKAGE_PIN AT4} [get_ports {pcie_rx_p[6]}]
set_property -dict {PACKAGE_PIN AT3} [get_ports {pcie_rx_n[6]}]
set_property -dict {PACKAGE_PIN AT9} [get_ports {pcie_tx_p[6]}]
set_property -dict {PACKAGE_PIN AT8} [get_ports {pcie_tx_n[6]}]
set_property -dict {PACKAGE_PIN AU2} [get_ports {pcie_rx_p[7]}]
set_property -dict {PACKAGE_PIN AU1} [get_ports {pcie_rx_n[7]}]
set_property -dict {PACKAGE_PIN AU11} [get_ports {pcie_tx_p[7]}]
set_property -dict {PACKAGE_PIN AU10} [get_ports {pcie_tx_n[7]}]
set_property -dict {PACKAGE_PIN AV4} [get_ports {pcie_rx_p[8]}]
set_property -dict {PACKAGE_PIN AV3} [get_ports {pcie_rx_n[8]}]
set_property -dict {PACKAGE_PIN AU7} [get_ports {pcie_tx_p[8]}]
set_property -dict {PACKAGE_PIN AU6} [get_ports {pcie_tx_n[8]}]
set_property -dict {PACKAGE_PIN AW6} [get_ports {pcie_rx_p[9]}]
set_property -dict {PACKAGE_PIN AW5} [get_ports {pcie_rx_n[9]}]
set_property -dict {PACKAGE_PIN AV9} [get_ports {pcie_tx_p[9]}]
set_property -dict {PACKAGE_PIN AV8} [get_ports {pcie_tx_n[9]}]
set_property -dict {PACKAGE_PIN AW2} [get_ports {pcie_rx_p[10]}]
set_property -dict {PACKAGE_PIN AW1} [get_ports {pcie_rx_n[10]}]
set_property -dict {PACKAGE_PIN AW11} [get_ports {pcie_tx_p[10]}]
set_property -dict {PACKAGE_PIN AW10} [get_ports {pcie_tx_n[10]}]
set_property -dict {PACKAGE_PIN AY4} [get_ports {pcie_rx_p[11]}]
set_property -dict {PACKAGE_PIN AY3} [get_ports {pcie_rx_n[11]}]
set_property -dict {PACKAGE_PIN AY9} [get_ports {pcie_tx_p[11]}]
set_property -dict {PACKAGE_PIN AY8} [get_ports {pcie_tx_n[11]}]
set_property -dict {PACKAGE_PIN BA6} [get_ports {pcie_rx_p[12]}]
set_property -dict {PACKAGE_PIN BA5} [get_ports {pcie_rx_n[12]}]
set_property -dict {PACKAGE_PIN BA11} [get_ports {pcie_tx_p[12]}]
set_property -dict {PACKAGE_PIN BA10} [get_ports {pcie_tx_n[12]}]
set_property -dict {PACKAGE_PIN BA2} [get_ports {pcie_rx_p[13]}]
set_property -dict {PACKAGE_PIN BA1} [get_ports {pcie_rx_n[13]}]
set_property -dict {PACKAGE_PIN BB9} [get_ports {pcie_tx_p[13]}]
set_property -dict {PACKAGE_PIN BB8} [get_ports {pcie_tx_n[13]}]
set_property -dict {PACKAGE_PIN BB4} [get_ports {pcie_rx_p[14]}]
set_property -dict {PACKAGE_PIN BB3} [get_ports {pcie_rx_n[14]}]
set_property -dict {PACKAGE_PIN BC11} [get_ports {pcie_tx_p[14]}]
set_property -dict {PACKAGE_PIN BC10} [get_ports {pcie_tx_n[14]}]
set_property -dict {PACKAGE_PIN BC2} [get_ports {pcie_rx_p[15]}]
set_property -dict {PACKAGE_PIN BC1} [get_ports {pcie_rx_n[15]}]
set_property -dict {PACKAGE_PIN BC7} [get_ports {pcie_tx_p[15]}]
set_property -dict {PACKAGE_PIN BC6} [get_ports {pcie_tx_n[15]}]

# Group qsfp0.
set_property -dict {PACKAGE_PIN T42} [get_ports {qsfp0_refclk_p}]
set_property -dict {PACKAGE_PIN T43} [get_ports {qsfp0_refclk_n}]
set_property -dict {PACKAGE_PIN L53} [get_ports {qsfp0_rx_p[0]}]
set_property -dict {PACKAGE_PIN L54} [get_ports {qsfp0_rx_n[0]}]
set_property -dict {PACKAGE_PIN L48} [get_ports {qsfp0_tx_p[0]}]
set_property -dict {PACKAGE_PIN L49} [get_ports {qsfp0_tx_n[0]}]
set_property -dict {PACKAGE_PIN K51} [get_ports {qsfp0_rx_p[1]}]
set_property -dict {PACKAGE_PIN K52} [get_ports {qsfp0_rx_n[1]}]
set_property -dict {PACKAGE_PIN L44} [get_ports {qsfp0_tx_p[1]}]
set_property -dict {PACKAGE_PIN L45} [get_ports {qsfp0_tx_n[1]}]
set_property -dict {PACKAGE_PIN J53} [get_ports {qsfp0_rx_p[2]}]
set_property -dict {PACKAGE_PIN J54} [get_ports {qsfp0_rx_n[2]}]
set_property -dict {PACKAGE_PIN K46} [get_ports {qsfp0_tx_p[2]}]
set_property -dict {PACKAGE_PIN K47} [get_ports {qsfp0_tx_n[2]}]
set_property -dict {PACKAGE_PIN H51} [get_ports {qsfp0_rx_p[3]}]
set_property -dict {PACKAGE_PIN H52} [get_ports {qsfp0_rx_n[3]}]
set_property -dict {PACKAGE_PIN J48} [get_ports {qsfp0_tx_p[3]}]
set_property -dict {PACKAGE_PIN J49} [get_ports {qsfp0_tx_n[3]}]

# Alveo U280: clocks and crossings. Generated from boards/u280/board.toml; edit that file instead.

# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.
create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p}]
create_clock -name board_clk -period 10.000 [get_ports {board_clk_p}]
create_clock -name qsfp0_refclk -period 6.400 [get_ports {qsfp0_refclk_p}]

# Pins without a clock.
set_false_path -to [get_ports {hbm_cattrip}]
set_false_path -to [get_ports {sc_uart_txd}]
set_false_path -from [get_ports {pcie_perst_n}]

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
