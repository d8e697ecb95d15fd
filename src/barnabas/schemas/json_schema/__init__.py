"""JSON Schema: :mod:`.model`, :mod:`.parsing`, :mod:`.comparison` with :mod:`.open_content`,
:mod:`.matching`, the names of :mod:`.changes`, and :mod:`.json_schema`.

Invariant: a change is compatible if every document that the old schema accepts is accepted by the
new one. Documents: :mod:`.codec` with :mod:`.effort`.
"""
