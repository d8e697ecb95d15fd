"""The user's side of a command: :mod:`~.output` prints tables, JSON and progress,
:mod:`~.overrides` parses ``name=value``, :mod:`~.record_text` converts keys and values to text.
"""
