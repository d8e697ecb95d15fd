"""Real coordinators, partitions and handlers in a world whose network, replication and crashes come
out of a seed.
"""
