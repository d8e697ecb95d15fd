"""The errors of the console: a status, and a sentence for the person or program that asked.

ConsoleError
  NotFound           404
  BadValue           400, names the parameter
  Forbidden          403
  LoginNeeded        401, and the cluster that wants the login
  ClusterRefused     502, a broker answered with an error or not at all
  Busy               429 or 503, a limit is reached
"""

from __future__ import annotations


class ConsoleError(Exception):
    status = 500
    title = "Something went wrong"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NotFound(ConsoleError):
    status = 404
    title = "Not found"


class BadValue(ConsoleError):
    status = 400
    title = "This value does not work"

    def __init__(self, sentence: str, parameter: str | None = None) -> None:
        super().__init__(sentence)
        self.parameter = parameter


class Forbidden(ConsoleError):
    status = 403
    title = "Not allowed"


class LoginNeeded(ConsoleError):
    status = 401
    title = "Please log in"

    def __init__(self, sentence: str, cluster: str) -> None:
        super().__init__(sentence)
        self.cluster = cluster


class ClusterRefused(ConsoleError):
    status = 502
    title = "The cluster refused"


class Denied(ClusterRefused):
    """An ACL is missing. The status differs so that a program need not read the sentence."""

    status = 403
    title = "Kafka denies this"


class Busy(ConsoleError):
    status = 429
    title = "Too much at once"
