"""The endpoints of the registry, a module for each resource.

Nouns: an *endpoint* is ``async (service, call) -> value``; the value becomes JSON. A *route* is a
method and the parts of a path, ``{name}`` for an argument. Routes that write say so: a follower
forwards them to the leader.

Read :mod:`~barnabas.registry.http` first, then :mod:`.subjects`; the others stand alone.

Invariants: an endpoint decides nothing about schemas (:mod:`barnabas.registry.core` does); what it
may reveal or change was authorised before it is called.
"""
