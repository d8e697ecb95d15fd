"""``barnabas consume``: print records.

Read :mod:`~.command` first, the options. :mod:`~.span` says which part of a partition is read, and
:mod:`~.assignment` which partitions. They are :mod:`~.assigned` to the command itself, or come to
it as a member of a group (:mod:`~.membership`).
:mod:`~.reading` is the loop from the consumer to the output. Records become bytes in
:mod:`~.template` (``--format``), :mod:`~.json_lines` (``--json``) or :mod:`~.pretty` (a terminal);
:mod:`~.filter` drops those that the user does not want to see. Records with schemas are decoded
before all of that (:mod:`barnabas.cli.registry_records`).

Invariants: the part to read is decided before the first record is read; no control character of a
record reaches a terminal, except with ``--raw``; an offset of a group is committed after its record
is flushed.

Not here: the notation of bytes (:mod:`barnabas.cli.terminal`), and the reader of our JSON lines
(:mod:`barnabas.cli.produce`).
"""
