"""The user's side of a command.

:mod:`~.output` prints tables, JSON and progress, and :mod:`~.table` fits a table to the width of
the terminal. :mod:`~.overrides` parses ``name=value``, :mod:`~.times` parses points in time,
:mod:`~.escapes` handles backslashes, and :mod:`~.record_text` converts keys and values to text.

Invariants: in a pipe a table is not cut, so that ``grep`` works on it; nothing but the result of a
command goes to stdout; bytes of records reach a terminal only through :mod:`~.escapes`.
"""
