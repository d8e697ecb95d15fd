"""Decoders for the files that a node keeps on disk. They never write, create or lock anything.

Nouns, in reading order: :mod:`~.entries` (:class:`~.entries.Entry`, a decoded item, and
:class:`~.entries.Damage`, the position where decoding stops), :mod:`~.kinds` (which file is decoded
by which function), then the decoders: :mod:`~.segments` for batches, :mod:`~.indexes` with
:mod:`~.batch_map` to compare them with their log, :mod:`~.small_files` for files that are read
whole. :mod:`~.named_records` decodes records of internal topics, :mod:`~.rendering` prints entries,
and :mod:`~.read_only_disk` is the disk they all read from.

Invariant: a decoder yields entries while the file makes sense and raises one ``Damage`` where it
stops. Comparing files with each other is not done here, except for an index and its log; that is
:mod:`barnabas.cli.log.verify`.
"""
