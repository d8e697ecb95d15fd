"""How the cost of a server grows with what it keeps: ``python -m bench.scale --help``.

``make bench`` compares speed at one size; the measurements here are of several sizes, so that
growth faster than the work becomes visible. They take long and have no goals, so they are no rows.

``offsets``  committed offsets of many groups: CPU, memory, and loading after a restart
``members``  groups of many members: CPU until they are stable
"""
