"""AgenticTraceSim: call logs of agentic fleets that do not exist, with the statistics of one that does (paper 6)."""
