"""Django: the rules in front of a project, and limits at its views and those of REST framework."""

from headgate.errors import MissingExtra

try:
    import django  # noqa: F401 - all that is here needs it
except ImportError:
    raise MissingExtra("django") from None
