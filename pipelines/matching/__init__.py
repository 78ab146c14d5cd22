"""Compares a generated trace with the log that its profile was fitted to."""
