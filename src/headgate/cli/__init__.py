"""The command line: what rules say, before they are put to work."""
