"""Fits a profile to a call log: one file a component."""
