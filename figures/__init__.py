"""Figures: one file a figure. A figure takes result tables and plots them; it computes nothing."""
