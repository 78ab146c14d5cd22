"""First floor: one file a metric. `metrics.core` holds what they stand on, `metrics.engines` who runs them."""
