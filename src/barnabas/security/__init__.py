"""Decisions about callers: their identity today; authentication, ACLs and quotas later.

Everything here is pure: no clock, no socket, no file. The connection (:mod:`barnabas.network`)
carries out a decision.
"""
