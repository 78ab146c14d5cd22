"""What every metric stands on: the engine interface, the derived tables, quantiles, sweeps, the store."""
