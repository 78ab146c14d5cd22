"""Event logs of a fleet that does not exist: sessions of tool executions and more, with counters that run on."""
