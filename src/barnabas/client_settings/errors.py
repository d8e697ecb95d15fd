"""The one error of client settings."""


class SettingsRefused(Exception):
    """A client cannot be made with these settings. The text is one sentence for the user, and it
    repeats no secret."""
