"""Pictures in two forms within one file: as they are drawn, and for pages in dark colours.

A viewer that knows nothing of either shows them as they are drawn. A browser asks the page which
form it wants, wherever the picture stands.
"""

from __future__ import annotations

# Paper, ink, lines and fillings: what each becomes on a dark page.
DARK = {
    "#ffffff": "#131416",
    "#333333": "#d3d7db",
    "#eeeeee": "#2a2d31",
    "#999999": "#80868c",
    "#c9ced3": "#4b5259",
    "#b8bec4": "#59616a",
    "#0072b2": "#4aa3df",
    "#0b6e8a": "#3aaccd",
    "#d55e00": "#f0883a",
    "#e69f00": "#f2b632",
    "#009e73": "#2fbf95",
}
BEGIN = '<style type="text/css">'
ASKED = "@media (prefers-color-scheme: dark){"


def dressed(picture: str) -> str:
    """The picture with its dark form in it; the same if it has one."""
    if ASKED in picture:
        return picture
    return picture.replace(BEGIN, BEGIN + rules(picture), 1)


def rules(picture: str) -> str:
    """A rule for each colour that the picture fills or draws with."""
    found = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
        if f"{kind}: {light}" in picture
    )
    return f"{ASKED}{found}}}"
