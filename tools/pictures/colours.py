"""Blue, orange, greys: colour-blind readers tell them apart, and they stay apart in print."""

IN, OUT, QUIET, INK = "#0072b2", "#d55e00", "#c9ced3", "#333333"
FAINT = "#999999"
