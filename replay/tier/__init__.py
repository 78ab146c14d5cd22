"""The DRAM tier, simulated: sessions in a closed loop on a server, under the policies of `kvcensus_gate`."""
