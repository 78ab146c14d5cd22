"""What every page is made with: the environment of the templates, and the style sheet."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["environment", "style_sheet"]


@cache
def environment() -> Environment:
    """The environment of all templates: everything is escaped, and a name that is not given is an error."""
    return Environment(
        loader=PackageLoader(__package__, ""),  # also where the packages lie in a zip file
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def style_sheet() -> Markup:
    """The style sheet. It is ours, so it goes in as it is."""
    return Markup(resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8"))
