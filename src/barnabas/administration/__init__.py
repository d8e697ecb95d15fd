"""Pure decisions about a cluster that several of its tools make: the command line, the console and
the pipelines.

    offset_reset          the offsets that a group gets, from those that a person asks for
    hanging_transactions  the transactions that no coordinator will ever end
    dead_letter           a record that failed: its origin and reason, and the notes of redrives

No module here sends requests or reads a clock: tools ask the cluster and pass the values in.
"""
