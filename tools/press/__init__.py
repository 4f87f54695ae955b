"""The documentation as a site: what Sphinx is told beside the pages themselves (docs/conf.py)."""
