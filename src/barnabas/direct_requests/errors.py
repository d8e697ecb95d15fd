"""The one error of direct requests."""


class RequestRefused(Exception):
    """There is no response; the text is a whole sentence for the user."""
