"""Compaction: keep the latest record of each key, drop the records that it supersedes.

Reading order:

- ``plan``: which part of a log is dirty, whether compaction is due, and which log comes first.
  ``dirty_log`` applies it to a real log and makes a job.
- ``cleaning_job``: the job and its result, plain data, because the work runs in another process.
- ``cleaning``: one pass. It reads ``source_batches``, builds the ``key_map`` (``new_key_map`` makes
  a ``compiled_key_map`` or a ``dict_key_map``), decides with ``batch_filter`` and ``transactions``
  which records stay, and writes them with ``batch_rewrite`` and ``cleaned_files``.
- ``swap``: puts a cleaned segment in the place of its sources, step by step; ``interrupted_swaps``
  finishes or undoes a swap after a crash.

Invariants: offsets never change. Nothing is written in place. A crash at any step leaves either the
old segments or the new one. A batch that cannot be read stops the pass and changes nothing.

Not here: the loop that looks for dirty logs, the worker processes and the throttle.
"""
