"""Decisions about callers: their identity, their permissions and their quotas.

Read :mod:`.principal` first. :mod:`.sasl` and :mod:`.principal_mapping` find the principal of a
connection, :mod:`.acls` decides what a principal may do, :mod:`.quotas` how much, and
:mod:`.delegation_tokens` makes the passwords of tokens. :mod:`.client_software` checks the name
that a client gives its software.

Everything here is pure: no clock, no socket, no file. The connection (:mod:`barnabas.network`)
carries out a decision.
"""
