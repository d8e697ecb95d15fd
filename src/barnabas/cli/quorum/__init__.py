"""``barnabas quorum``: the controllers of the metadata log.

:mod:`~.command` has the options, :mod:`~.description` the quorum as its leader sees it, and
:mod:`~.voter_identity` reads the identity of a new voter from its configuration.
"""
