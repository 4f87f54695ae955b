"""Envoy's rate limit service and its quota service: what they ask, decided by limits of ours."""

from headgate.errors import MissingExtra

try:
    # Before any module here asks for it.
    import google.protobuf  # noqa: F401 - see above
except ImportError:
    raise MissingExtra("service") from None
