"""The arithmetic of limits: pure steps over integers, one module per algorithm.

Everything in this folder is microseconds and whole units. No function here asks the clock.
"""
