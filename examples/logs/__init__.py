"""Logs and metrics of many machines, brought together: what was slow, what failed, and what could not be read."""
