"""The operating system as ports: disk, clock, randomness, file descriptors.

Reading order: ``disk`` (the port and its promises about durability), ``real_disk`` (the same with
real files, more of them than may be open at once), ``descriptors`` (how files and connections share
the limit of the process), ``clock``, ``entropy``, ``slices`` (long work on the event loop, in
pieces), ``awaiting`` (promises in coroutines).

Invariants: cores import none of this and receive plain values; shells receive a port, so that
``simulation`` can replace it. An implementation raises ``OSError`` with the name of the file.

Not here: sockets (``network``), and the simulated disk and clock (``simulation``).
"""
