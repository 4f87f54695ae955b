"""Signs: what the system says of a socket: that something comes, or that something can go."""

from __future__ import annotations

COMES = 1
GOES = 4
