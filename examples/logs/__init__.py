"""Logs and metrics of many machines in one place: slow requests, failures, unreadable lines."""
