"""A Matplotlib figure as SVG for a page: text stays text, ids are its own, colours are CSS variables.

The bytes depend on the figure alone: fixed hash salt, no date, no creator, no metadata.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from figures import style

__all__ = ["FONT_STACK", "VARIABLES", "to_svg"]

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "{http://www.w3.org/1999/xlink}href"
ET.register_namespace("", _SVG)

FONT_STACK: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: Colour in the figure -> CSS variable; the colour itself stays as the fallback of a file on its own.
VARIABLES: Final = {
    style.FOREGROUND: "--fg",
    style.MUTED: "--muted",
    style.GRID: "--grid",
    style.BACKGROUND: "--bg",
    **{colour: f"--c{i}" for i, colour in enumerate(style.COLOURS, 1)},
}

_HALO: Final = "paint-order: stroke; stroke: var(--bg, #fff); stroke-width: 2.6; stroke-linejoin: round"
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_FONT: Final = re.compile(r"font-family:[^;]*'DejaVu Sans'[^;]*|'DejaVu Sans'(, sans-serif)?")
_DECIMALS: Final = re.compile(r"(\d+\.\d{2})\d+")


def to_svg(figure: Figure, prefix: str, title: str, description: str) -> str:
    """`figure` as an `<svg role="img">` element.

    `prefix` makes its ids unique in a page and must be a plain name; `title` and `description` are
    read out in place of the picture.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", prefix):
        raise ValueError(f"{prefix!r} cannot begin an id; use a-z, 0-9 and -")
    root = ET.fromstring(_raw(figure, prefix))
    for parent in root.iter():
        # The style element would reach the whole page; metadata holds nothing for a reader.
        for child in [c for c in parent if c.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}metadata")]:
            parent.remove(child)
    used = {name for e in root.iter() for value in e.attrib.values() for name in _REFERENCE.findall(value)}
    used |= {e.attrib[_XLINK][1:] for e in root.iter() if _XLINK in e.attrib}
    for element in root.iter():
        _rewrite(element, prefix, used)
    _describe(root, prefix, title, description)
    return ET.tostring(root, encoding="unicode")


def _raw(figure: Figure, salt: str) -> str:
    buffer = io.StringIO()
    with mpl.rc_context({**style.RC, "svg.hashsalt": salt}), warnings.catch_warnings():
        # A label in a script that DejaVu lacks is drawn by the reader's own fonts.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*missing.*")
        FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return buffer.getvalue()


def _rewrite(element: ET.Element, prefix: str, used: set[str]) -> None:
    """Own ids for what is referred to, none for the rest; variables for colours; short numbers."""
    attributes = element.attrib
    name = attributes.pop("id", None)
    if name in used:
        attributes["id"] = f"{prefix}-{name}"
    elif name == "halo":
        attributes["style"] = _HALO
    if _XLINK in attributes:
        attributes["href"] = f"#{prefix}-{attributes.pop(_XLINK)[1:]}"
    for key, value in attributes.items():
        if key == "style" or key == "clip-path":
            value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
        if key == "style":
            for colour, variable in VARIABLES.items():
                value = value.replace(colour, f"var({variable}, {colour})")
            value = _FONT.sub(f"font-family: {FONT_STACK}", value)
        elif key in ("d", "x", "y", "transform"):
            value = _DECIMALS.sub(r"\1", " ".join(value.split()))
        attributes[key] = value
    if element.tag != f"{{{_SVG}}}text":
        element.text = element.tail = None
    else:
        element.tail = None


def _describe(root: ET.Element, prefix: str, title: str, description: str) -> None:
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {
        "role": "img",
        "class": "fig",
        "aria-labelledby": f"{prefix}-t {prefix}-d",
        "style": "stroke-linejoin: round; stroke-linecap: butt",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{prefix}-{tag[0]}"})
        element.text = text
        root.insert(position, element)
