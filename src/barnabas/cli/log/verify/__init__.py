"""Scrubs the files of a node, running or not: every file is intact, and the files agree with each
other.

Nouns, in reading order: :mod:`~.findings` (:class:`~.findings.Finding` and
:class:`~.findings.Scrub`, which collects them), :mod:`~.targets` (which directories hold logs),
:mod:`~.directory_scrub` (a log directory), :mod:`~.partition_scrub` (a partition),
:mod:`~.segment_scrub` (batch by batch), :mod:`~.index_scrub` (indexes against their log),
:mod:`~.quorum_scrub` (snapshots and quorum state), :mod:`~.command`.

Invariants: nothing here writes, creates, locks or repairs anything. A node may write meanwhile, so
a problem in a directory that changed is checked again. State that a crash leaves and the next start
repairs is a note, not an error. The decoders are in :mod:`barnabas.cli.log.dump`.
"""
