"""Decisions about callers: identity today; authentication, ACLs and quotas move in with the next issue.

Everything here is pure: no clock, no socket, no file. The connection (:mod:`barnabas.network`) carries
a decision out.
"""
