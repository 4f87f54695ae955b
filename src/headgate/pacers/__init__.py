"""How evenly: callers, bytes and jobs leave one after the other, at a pace."""
