"""The decisions of the registry. Pure: no clock, socket, file or chance.

Nouns: :class:`~.state.RegistryState` is everything that the topic says. An operation takes the
state and a request, and returns a :class:`~.decision.Decision`: entries to write, and an answer. A
:class:`~.errors.RegistryError` is a refusal.

Read in this order: :mod:`.subject`, :mod:`.entries` with :mod:`.digest`, :mod:`.state`,
:mod:`.scope`, then the operations: :mod:`.registering` with :mod:`.contracts`,
:mod:`.compatibility`, :mod:`.reserved_fields` and :mod:`.parsed_schemas`; :mod:`.lookup`,
:mod:`.deleting`, :mod:`.configuring`, :mod:`.associating`, :mod:`.tagging`, :mod:`.rule_sets`, and
:mod:`.election`.

Invariants: an operation never changes the state, replaying its entries does; an id belongs to one
text within a context; versions of a subject only rise.

Not here: authorisation (:mod:`barnabas.registry.app`), and the moment at which entries count as
written.
"""
