"""Record batches (magic 2): their bytes, their checks, and the few places that open them.

Reading order:

- ``batch_header``: the 61 bytes that a broker reads, and the fields that it may set.
- ``batches``: walking over concatenated batches, and the checks of shape and checksum.
- ``validation``: the checks on a produced batch, with the error codes of Kafka.
- ``record_check``, ``record_scan``, ``record``: three ways to look inside, from the fastest to the
  most complete: check the structure, find keys and bounds, build :class:`~.record.Record` objects.
- ``compression``: the four codecs.
- ``batch_builder``, ``control_batch``: making batches.

Invariants: a batch stays closed between socket and segment. The checksum covers everything behind
byte 21, and each change there recomputes it. Decompression has a bound given by the caller.

Not here: files and offsets of a log (``storage``), and the framing of requests (``wire``).
"""
