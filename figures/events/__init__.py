"""Figures of an event log: one file a figure."""
