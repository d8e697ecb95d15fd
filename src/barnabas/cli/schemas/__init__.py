"""``barnabas schemas``: the schemas of a registry, and comparisons of files without one.

Read :mod:`~.command` first, then :mod:`~.registry_requests` (one request to a registry),
:mod:`~.schema_files` (types and texts of files), and :mod:`~.transfer` (export and import).

Invariants: every command works with any registry that answers Confluent's API; ``check`` and
``diff`` of two files need none.
"""
