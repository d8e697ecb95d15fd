"""The one error of the commands."""


class Refused(Exception):
    """The command cannot do what the user asked for; the text is the whole message."""
