"""Top floor: what a user runs."""
