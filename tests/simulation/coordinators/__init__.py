"""Coordinators, partitions and handlers as they are, in a world whose network, replication and crashes come out of a seed."""
