"""Doctor: what is wrong with a setup that no rule file can say: servers, machine, files, proxies.

Nothing is changed. What is asked of a server is asked within bounds of time, and a key that is
written to see whether it may be is gone a second later.
"""
