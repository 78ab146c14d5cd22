"""Who runs the SQL of the metrics."""
