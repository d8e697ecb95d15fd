"""Protobuf: :mod:`.parsing` makes the :mod:`.model` of a file, :mod:`.printing` its canonical text,
:mod:`.comparison` the changes between two files, and :mod:`.protobuf_schema` is around them.

Invariant: fields are known by number, messages by their name within the package. Messages:
:mod:`.codec` with :mod:`.message_types`, :mod:`.message_values` and :mod:`.well_known_types`; for
people :mod:`.json_view`.
"""
