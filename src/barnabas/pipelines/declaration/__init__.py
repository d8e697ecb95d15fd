"""The contents of a pipeline's file, checked, as values. Nothing here needs Spark.

Read :mod:`~.located` first (YAML values with their lines), then :mod:`~.fields`, which takes a
mapping apart, refuses unknown fields, and collects mistakes in :mod:`~.findings`.
:mod:`~.source_declarations`, :mod:`~.step_declarations`, :mod:`~.sink_declarations` and
:mod:`~.format_declaration` hold the fields that all kinds share; :mod:`~.pipeline_declaration` is
the whole, with the checks that need all of it, and :mod:`~.repeatable` the check behind
exactly-once sinks. :mod:`~.read` is the entry point for files, YAML or Python
(:mod:`~.python_file`).

Invariants: a reading finds every mistake, and raises them together as a ``DeclarationError`` with
file, line and field; nothing connects anywhere; a declaration from code passes the same checks as
one from a file.

Not here: the fields of a single kind, which are declared in the kind's module below ``sources``,
``steps``, ``sinks`` and ``formats``.
"""
