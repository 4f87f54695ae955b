"""Demo: a gateway in front of a small service, with visitors, all of it on this machine."""
