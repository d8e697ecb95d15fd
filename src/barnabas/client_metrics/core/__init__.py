"""Decisions about clients' metrics. Pure: times and random ids come from the shell.

Read :mod:`.subscription` (what to ask of which client), :mod:`.client_instance` and
:mod:`.client_instances` (when a client may ask and push), :mod:`.otlp_fields` and
:mod:`.otlp_reader` (from bytes to data points), :mod:`.prometheus_names`,
:mod:`.client_series` (what the page shows), :mod:`.otlp_labels` (what is forwarded).
"""
