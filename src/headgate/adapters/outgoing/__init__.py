"""Outgoing: clients that keep to their own pace, and to what the other side says."""
