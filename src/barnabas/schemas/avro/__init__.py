"""Avro: :mod:`.model`, :mod:`.parsing` with :mod:`.defaults`, :mod:`.printing`,
:mod:`.normal_form`, :mod:`.compatibility`, and :mod:`.avro_schema` around them.

Invariant: names in the model are full names, so that two schemas can be compared without a
namespace. Data: :mod:`.codec` with :mod:`.data_reading`, :mod:`.data_writing`,
:mod:`.logical_types`, :mod:`.default_values` and :mod:`.union_forms`; for people :mod:`.json_view`.
"""
