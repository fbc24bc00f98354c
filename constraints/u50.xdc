# Alveo U50: configuration. Generated from boards/u50/board.toml; edit that file instead.
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
set_operating_conditions -design_power_budget 63

# Alveo U50: pins. Generated from boards/u50/board.toml; edit that file instead.

# Group board.
set_property -dict {PACKAGE_PIN G17 IOSTANDARD LVDS DQS_BIAS TRUE} [get_ports {board_clk_p}]
set_property -dict {PACKAGE_PIN G16 IOSTANDARD LVDS} [get_ports {board_clk_n}]
set_property -dict {PACKAGE_PIN J18 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW PULLTYPE PULLDOWN} [get_ports {hbm_cattrip}]
set_property -dict {PACKAGE_PIN BB25 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW} [get_ports {sc_uart_txd}]
set_property -dict {PACKAGE_PIN E18 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN E16 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN F17 IOSTANDARD LVCMOS18 DRIVE 8 SLEW SLOW} [get_ports {led[2]}]

# Group pcie.
set_property -dict {PACKAGE_PIN AW27 IOSTANDARD LVCMOS18 PULLTYPE PULLUP} [get_ports {pcie_perst_n}]
set_property -dict {PACKAGE_PIN AF9} [get_ports {pcie_refclk_p}]
set_property -dict {PACKAGE_PIN AF8} [get_ports {pcie_refclk_n}]
set_property -dict {PACKAGE_PIN AL2} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN AL1} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN Y5} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN Y4} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN AM4} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN AM3} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN AA7} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN AA6} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN AK4} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN AK3} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN AB5} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN AB4} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN AN2} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN AN1} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN AC7} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN AC6} [get_ports {pcie_tx_n[3]}]
set_property -dict {PACKAGE_PIN AP4} [get_ports {pcie_rx_p[4]}]
set_property -dict {PACKAGE_PIN AP3} [get_ports {pcie_rx_n[4]}]
set_property -dict {PACKAGE_PIN AD5} [get_ports {pcie_tx_p[4]}]
set_property -dict {PACKAGE_PIN AD4} [get_ports {pcie_tx_n[4]}]
set_property -dict {PACKAGE_PIN AR2} [get_ports {pcie_rx_p[5]}]
set_property -dict {PACKAGE_PIN AR1} [get_ports {pcie_rx_n[5]}]
set_property -dict {PACKAGE_PIN AF5} [get_ports {pcie_tx_p[5]}]
set_property -dict {PACKAGE_PIN AF4} [get_ports {pcie_tx_n[5]}]
set_property -dict {PACKAGE_PIN AT4} [get_ports {pcie_rx_p[6]}]
set_property -dict {PACKAGE_PIN AT3} [get_ports {pcie_rx_n[6]}]
set_property -dict {PACKAGE_PIN AE7} [get_ports {pcie_tx_p[6]}]
set_property -dict {PACKAGE_PIN AE6} [get_ports {pcie_tx_n[6]}]
set_property -dict {PACKAGE_PIN AU2} [get_ports {pcie_rx_p[7]}]
set_property -dict {PACKAGE_PIN AU1} [get_ports {pcie_rx_n[7]}]
set_property -dict {PACKAGE_PIN AH5} [get_ports {pcie_tx_p[7]}]
set_property -dict {PACKAGE_PIN AH4} [get_ports {pcie_tx_n[7]}]
set_property -dict {PACKAGE_PIN AV4} [get_ports {pcie_rx_p[8]}]
set_property -dict {PACKAGE_PIN AV3} [get_ports {pcie_rx_n[8]}]
set_property -dict {PACKAGE_PIN AG7} [get_ports {pcie_tx_p[8]}]
set_property -dict {PACKAGE_PIN AG6} [get_ports {pcie_tx_n[8]}]
set_property -dict {PACKAGE_PIN AW2} [get_ports {pcie_rx_p[9]}]
set_property -dict {PACKAGE_PIN AW1} [get_ports {pcie_rx_n[9]}]
set_property -dict {PACKAGE_PIN AJ7} [get_ports {pcie_tx_p[9]}]
set_property -dict {PACKAGE_PIN AJ6} [get_ports {pcie_tx_n[9]}]
set_property -dict {PACKAGE_PIN BA2} [get_ports {pcie_rx_p[10]}]
set_property -dict {PACKAGE_PIN BA1} [get_ports {pcie_rx_n[10]}]
set_property -dict {PACKAGE_PIN AL7} [get_ports {pcie_tx_p[10]}]
set_property -dict {PACKAGE_PIN AL6} [get_ports {pcie_tx_n[10]}]
set_property -dict {PACKAGE_PIN BC2} [get_ports {pcie_rx_p[11]}]
set_property -dict {PACKAGE_PIN BC1} [get_ports {pcie_rx_n[11]}]
set_property -dict {PACKAGE_PIN AM9} [get_ports {pcie_tx_p[11]}]
set_property -dict {PACKAGE_PIN AM8} [get_ports {pcie_tx_n[11]}]
set_property -dict {PACKAGE_PIN AY4} [get_ports {pcie_rx_p[12]}]
set_property -dict {PACKAGE_PIN AY3} [get_ports {pcie_rx_n[12]}]
set_property -dict {PACKAGE_PIN AN7} [get_ports {pcie_tx_p[12]}]
set_property -dict {PACKAGE_PIN AN6} [get_ports {pcie_tx_n[12]}]
set_property -dict {PACKAGE_PIN BB4} [get_ports {pcie_rx_p[13]}]
set_property -dict {PACKAGE_PIN BB3} [get_ports {pcie_rx_n[13]}]
set_property -dict {PACKAGE_PIN AP9} [get_ports {pcie_tx_p[13]}]
set_property -dict {PACKAGE_PIN AP8} [get_ports {pcie_tx_n[13]}]
set_property -dict {PACKAGE_PIN BD4} [get_ports {pcie_rx_p[14]}]
set_property -dict {PACKAGE_PIN BD3} [get_ports {pcie_rx_n[14]}]
set_property -dict {PACKAGE_PIN AR7} [get_ports {pcie_tx_p[14]}]
set_property -dict {PACKAGE_PIN AR6} [get_ports {pcie_tx_n[14]}]
set_property -dict {PACKAGE_PIN BE6} [get_ports {pcie_rx_p[15]}]
set_property -dict {PACKAGE_PIN BE5} [get_ports {pcie_rx_n[15]}]
set_property -dict {PACKAGE_PIN AT9} [get_ports {pcie_tx_p[15]}]
set_property -dict {PACKAGE_PIN AT8} [get_ports {pcie_tx_n[15]}]

# Group qsfp0.
set_property -dict {PACKAGE_PIN N36} [get_ports {qsfp0_refclk_p}]
set_property -dict {PACKAGE_PIN N37} [get_ports {qsfp0_refclk_n}]
set_property -dict {PACKAGE_PIN J45} [get_ports {qsfp0_rx_p[0]}]
set_property -dict {PACKAGE_PIN J46} [get_ports {qsfp0_rx_n[0]}]
set_property -dict {PACKAGE_PIN D42} [get_ports {qsfp0_tx_p[0]}]
set_property -dict {PACKAGE_PIN D43} [get_ports {qsfp0_tx_n[0]}]
set_property -dict {PACKAGE_PIN G45} [get_ports {qsfp0_rx_p[1]}]
set_property -dict {PACKAGE_PIN G46} [get_ports {qsfp0_rx_n[1]}]
set_property -dict {PACKAGE_PIN C40} [get_ports {qsfp0_tx_p[1]}]
set_property -dict {PACKAGE_PIN C41} [get_ports {qsfp0_tx_n[1]}]
set_property -dict {PACKAGE_PIN F43} [get_ports {qsfp0_rx_p[2]}]
set_property -dict {PACKAGE_PIN F44} [get_ports {qsfp0_rx_n[2]}]
set_property -dict {PACKAGE_PIN B42} [get_ports {qsfp0_tx_p[2]}]
set_property -dict {PACKAGE_PIN B43} [get_ports {qsfp0_tx_n[2]}]
set_property -dict {PACKAGE_PIN E45} [get_ports {qsfp0_rx_p[3]}]
set_property -dict {PACKAGE_PIN E46} [get_ports {qsfp0_rx_n[3]}]
set_property -dict {PACKAGE_PIN A40} [get_ports {qsfp0_tx_p[3]}]
set_property -dict {PACKAGE_PIN A41} [get_ports {qsfp0_tx_n[3]}]

# Alveo U50: clocks and crossings. Generated from boards/u50/board.toml; edit that file instead.

# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.
create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p}]
create_clock -name board_clk -period 10.000 [get_ports {board_clk_p}]
create_clock -name qsfp0_refclk -period 6.206 [get_ports {qsfp0_refclk_p}]

# Pins without a clock.
set_false_path -to [get_ports {hbm_cattrip}]
set_false_path -to [get_ports {sc_uart_txd}]
set_false_path -to [get_ports {led[0]}]
set_false_path -to [get_ports {led[1]}]
set_false_path -to [get_ports {led[2]}]
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
