// What of a LUT RAM lies between registers: its reads. `levels_script` puts these in the place of the mapped memories, so
// that the longest path does not walk from a write pin to an output, which a clock edge separates. Each read is one cell.

module RAM32X1D (
  output DPO, SPO,
  input A0, A1, A2, A3, A4,
  input DPRA0, DPRA1, DPRA2, DPRA3, DPRA4,
  input D, WCLK, WE
);
  parameter INIT = 0, IS_WCLK_INVERTED = 0;
  LUT5 dual (.I0(DPRA0), .I1(DPRA1), .I2(DPRA2), .I3(DPRA3), .I4(DPRA4), .O(DPO));
  LUT5 single (.I0(A0), .I1(A1), .I2(A2), .I3(A3), .I4(A4), .O(SPO));
endmodule

module RAM64X1D (
  output DPO, SPO,
  input A0, A1, A2, A3, A4, A5,
  input DPRA0, DPRA1, DPRA2, DPRA3, DPRA4, DPRA5,
  input D, WCLK, WE
);
  parameter INIT = 0, IS_WCLK_INVERTED = 0;
  LUT6 dual (.I0(DPRA0), .I1(DPRA1), .I2(DPRA2), .I3(DPRA3), .I4(DPRA4), .I5(DPRA5), .O(DPO));
  LUT6 single (.I0(A0), .I1(A1), .I2(A2), .I3(A3), .I4(A4), .I5(A5), .O(SPO));
endmodule

module RAM32M (
  output [1:0] DOA, DOB, DOC, DOD,
  input [4:0] ADDRA, ADDRB, ADDRC, ADDRD,
  input [1:0] DIA, DIB, DIC, DID,
  input WCLK, WE
);
  parameter INIT_A = 0, INIT_B = 0, INIT_C = 0, INIT_D = 0, IS_WCLK_INVERTED = 0;
  LUT5 read_a0 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .O(DOA[0]));
  LUT5 read_a1 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .O(DOA[1]));
  LUT5 read_b0 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .O(DOB[0]));
  LUT5 read_b1 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .O(DOB[1]));
  LUT5 read_c0 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .O(DOC[0]));
  LUT5 read_c1 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .O(DOC[1]));
  LUT5 read_d0 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .O(DOD[0]));
  LUT5 read_d1 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .O(DOD[1]));
endmodule

module RAM64M (
  output DOA, DOB, DOC, DOD,
  input [5:0] ADDRA, ADDRB, ADDRC, ADDRD,
  input DIA, DIB, DIC, DID,
  input WCLK, WE
);
  parameter INIT_A = 0, INIT_B = 0, INIT_C = 0, INIT_D = 0, IS_WCLK_INVERTED = 0;
  LUT6 read_a0 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .I5(ADDRA[5]), .O(DOA));
  LUT6 read_b0 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .I5(ADDRB[5]), .O(DOB));
  LUT6 read_c0 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .I5(ADDRC[5]), .O(DOC));
  LUT6 read_d0 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .I5(ADDRD[5]), .O(DOD));
endmodule

module RAM32M16 (
  output [1:0] DOA, DOB, DOC, DOD, DOE, DOF, DOG, DOH,
  input [4:0] ADDRA, ADDRB, ADDRC, ADDRD, ADDRE, ADDRF, ADDRG, ADDRH,
  input [1:0] DIA, DIB, DIC, DID, DIE, DIF, DIG, DIH,
  input WCLK, WE
);
  parameter INIT_A = 0, INIT_B = 0, INIT_C = 0, INIT_D = 0, INIT_E = 0, INIT_F = 0, INIT_G = 0, INIT_H = 0, IS_WCLK_INVERTED = 0;
  LUT5 read_a0 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .O(DOA[0]));
  LUT5 read_a1 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .O(DOA[1]));
  LUT5 read_b0 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .O(DOB[0]));
  LUT5 read_b1 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .O(DOB[1]));
  LUT5 read_c0 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .O(DOC[0]));
  LUT5 read_c1 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .O(DOC[1]));
  LUT5 read_d0 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .O(DOD[0]));
  LUT5 read_d1 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .O(DOD[1]));
  LUT5 read_e0 (.I0(ADDRE[0]), .I1(ADDRE[1]), .I2(ADDRE[2]), .I3(ADDRE[3]), .I4(ADDRE[4]), .O(DOE[0]));
  LUT5 read_e1 (.I0(ADDRE[0]), .I1(ADDRE[1]), .I2(ADDRE[2]), .I3(ADDRE[3]), .I4(ADDRE[4]), .O(DOE[1]));
  LUT5 read_f0 (.I0(ADDRF[0]), .I1(ADDRF[1]), .I2(ADDRF[2]), .I3(ADDRF[3]), .I4(ADDRF[4]), .O(DOF[0]));
  LUT5 read_f1 (.I0(ADDRF[0]), .I1(ADDRF[1]), .I2(ADDRF[2]), .I3(ADDRF[3]), .I4(ADDRF[4]), .O(DOF[1]));
  LUT5 read_g0 (.I0(ADDRG[0]), .I1(ADDRG[1]), .I2(ADDRG[2]), .I3(ADDRG[3]), .I4(ADDRG[4]), .O(DOG[0]));
  LUT5 read_g1 (.I0(ADDRG[0]), .I1(ADDRG[1]), .I2(ADDRG[2]), .I3(ADDRG[3]), .I4(ADDRG[4]), .O(DOG[1]));
  LUT5 read_h0 (.I0(ADDRH[0]), .I1(ADDRH[1]), .I2(ADDRH[2]), .I3(ADDRH[3]), .I4(ADDRH[4]), .O(DOH[0]));
  LUT5 read_h1 (.I0(ADDRH[0]), .I1(ADDRH[1]), .I2(ADDRH[2]), .I3(ADDRH[3]), .I4(ADDRH[4]), .O(DOH[1]));
endmodule

module RAM64M8 (
  output DOA, DOB, DOC, DOD, DOE, DOF, DOG, DOH,
  input [5:0] ADDRA, ADDRB, ADDRC, ADDRD, ADDRE, ADDRF, ADDRG, ADDRH,
  input DIA, DIB, DIC, DID, DIE, DIF, DIG, DIH,
  input WCLK, WE
);
  parameter INIT_A = 0, INIT_B = 0, INIT_C = 0, INIT_D = 0, INIT_E = 0, INIT_F = 0, INIT_G = 0, INIT_H = 0, IS_WCLK_INVERTED = 0;
  LUT6 read_a0 (.I0(ADDRA[0]), .I1(ADDRA[1]), .I2(ADDRA[2]), .I3(ADDRA[3]), .I4(ADDRA[4]), .I5(ADDRA[5]), .O(DOA));
  LUT6 read_b0 (.I0(ADDRB[0]), .I1(ADDRB[1]), .I2(ADDRB[2]), .I3(ADDRB[3]), .I4(ADDRB[4]), .I5(ADDRB[5]), .O(DOB));
  LUT6 read_c0 (.I0(ADDRC[0]), .I1(ADDRC[1]), .I2(ADDRC[2]), .I3(ADDRC[3]), .I4(ADDRC[4]), .I5(ADDRC[5]), .O(DOC));
  LUT6 read_d0 (.I0(ADDRD[0]), .I1(ADDRD[1]), .I2(ADDRD[2]), .I3(ADDRD[3]), .I4(ADDRD[4]), .I5(ADDRD[5]), .O(DOD));
  LUT6 read_e0 (.I0(ADDRE[0]), .I1(ADDRE[1]), .I2(ADDRE[2]), .I3(ADDRE[3]), .I4(ADDRE[4]), .I5(ADDRE[5]), .O(DOE));
  LUT6 read_f0 (.I0(ADDRF[0]), .I1(ADDRF[1]), .I2(ADDRF[2]), .I3(ADDRF[3]), .I4(ADDRF[4]), .I5(ADDRF[5]), .O(DOF));
  LUT6 read_g0 (.I0(ADDRG[0]), .I1(ADDRG[1]), .I2(ADDRG[2]), .I3(ADDRG[3]), .I4(ADDRG[4]), .I5(ADDRG[5]), .O(DOG));
  LUT6 read_h0 (.I0(ADDRH[0]), .I1(ADDRH[1]), .I2(ADDRH[2]), .I3(ADDRH[3]), .I4(ADDRH[4]), .I5(ADDRH[5]), .O(DOH));
endmodule
