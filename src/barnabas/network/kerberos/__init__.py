"""Kerberos, where the extra ``barnabas[kerberos]`` is installed.

The one module, :mod:`~.contexts`, gives :mod:`barnabas.security.sasl.gssapi` its contexts. It is
imported only by a node whose settings ask for GSSAPI.
"""
