"""Figures that set several results side by side: one file a figure, one line or row a window."""
