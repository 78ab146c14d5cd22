"""Routing counterfactuals: where else the calls could have been served, and what that does to their KV (paper 5.5)."""
