"""A profile of tables as a TOML file, which `profile_file` reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from tracesim.laws import Points
from tracesim.measured import DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.profile import CLASSES, Profile

__all__ = ["profile_text"]


def profile_text(profile: Profile, about: Sequence[str]) -> str:
    """The file.

    Parameters
    ----------
    profile : Profile
        One that `kvcensus fit` makes: its depth, gaps and contexts are tables.
    about : sequence of str
        Lines of the comment at its head.
    """
    lines = [*(f"# {line}" for line in about), "", *_fleet(profile), *_classes(profile), *_pace(profile),
             *_contexts(profile), *_reuse(profile), *_durations(profile)]
    return "\n".join(lines) + "\n"


def _fleet(profile: Profile) -> Iterable[str]:
    window = profile.window
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=window.start_us)
    yield from ("[window]", f"start = {start:%Y-%m-%dT%H:%M:%SZ}", f"days = {window.days!r}",
                f"sessions = {window.sessions}", f"cuts = {_flag(window.cuts)}",
                f"unsessioned_per_session = {profile.unsessioned_per_session!r}", "")
    yield from ("[arrivals]", f"hours = {_row(profile.arrivals.hours)}", f"days = {_row(profile.arrivals.days)}",
                f"starts = {_points(profile.arrivals.starts)}", "")
    place = profile.placement
    if place is not None:
        yield from ("[placement]", f"regions = [{', '.join(map(_text, place.regions))}]",
                    f"shares = {_row(place.shares)}", f"deployments = {place.deployments}", f"home = {place.home!r}",
                    f"move_deployment = {place.move_deployment!r}", f"move_region = {place.move_region!r}",
                    f"return_deployment = {place.return_deployment!r}", f"return_region = {place.return_region!r}",
                    f"spread = {place.spread!r}", "")


def _classes(profile: Profile) -> Iterable[str]:
    classes = profile.classes
    yield from ("[classes]", f"first = {_row(classes.first)}", "[classes.next]")
    for name, row in zip(CLASSES, classes.following, strict=False):
        yield f"{name} = {_row(row)}"
    for model in classes.models:
        yield from ("", "[[models]]", f"name = {_text(model.name)}", f"class = {_text(model.conservative)}",
                    f"broad = {_text(model.broad)}", f"share = {model.share!r}")
    yield ""


def _pace(profile: Profile) -> Iterable[str]:
    assert isinstance(profile.depth, DepthTable)
    assert isinstance(profile.gaps, GapTables)
    yield from ("[depth]", f"bands = [{', '.join(map(str, profile.depth.bands))}]",
                f"edges = {_points(profile.depth.edges)}", "")
    if profile.turns is not None:
        yield from ("[turns]", f"opens = {_row(profile.turns.opens)}", "")
    yield from ("[gaps]", f"alike = {_row(profile.gaps.alike)}")
    for intra, inter in zip(profile.gaps.intra, profile.gaps.inter, strict=True):
        yield from ("[[gaps.bands]]", f"intra = {_points(intra)}", f"inter = {_points(inter)}")
    yield ""


def _contexts(profile: Profile) -> Iterable[str]:
    context = profile.context
    assert isinstance(context, Threads)
    yield "[context]"
    for peak, follows in zip(context.peak, context.follows, strict=True):
        yield from ("[[context.bands]]", f"peak = {_points(peak)}", f"follows = {follows!r}")
    for step in context.step:
        yield from ("[[context.steps]]", f"step = {_points(step)}")
    for place in _entered(profile):
        yield from ("[[context.classes]]", f"class = {_text(CLASSES[place])}",
                    f"share = {_points(context.share[place])}",
                    f"first = [{', '.join(map(_points, context.first[place]))}]", f"stays = {context.stays[place]!r}",
                    f"compacts = {context.compacts[place]!r}", f"extracts = {context.extracts[place]!r}",
                    f"remaining = {_points(context.remaining[place])}", f"extract = {_points(context.extract[place])}")
    yield ""


def _reuse(profile: Profile) -> Iterable[str]:
    if profile.reuse is None:
        return
    assert isinstance(profile.reuse, ReuseTables)
    yield from ("[reuse]", f"block = {profile.reuse.block}", f"effectiveness = {profile.reuse.effectiveness!r}")
    for cell in profile.reuse.cells:
        yield from ("[[reuse.cells]]", f"situation = {_text(cell.situation)}")
        if cell.gap is not None:
            yield f"gap = {cell.gap}"
        yield f"found = {_points(cell.found)}"
    yield ""


def _durations(profile: Profile) -> Iterable[str]:
    law = profile.durations
    if law is None:
        return
    assert isinstance(law, DurationTables)
    yield "[durations]"
    if law.busy is not None:
        yield f"busy = {_points(law.busy)}"
    for place in _entered(profile) if law.output is not None else ():
        assert law.output is not None
        yield from ("[[durations.classes]]", f"class = {_text(CLASSES[place])}",
                    f"output = {_points(law.output[place])}")


def _entered(profile: Profile) -> list[int]:
    """Classes that have calls."""
    named = {model.conservative for model in profile.classes.models}
    return [place for place, name in enumerate(CLASSES) if name in named]


def _points(points: Points) -> str:
    return f"[{', '.join(_row(point) for point in points)}]"


def _row(values: Iterable[float]) -> str:
    return f"[{', '.join(f'{value:.12g}' for value in values)}]"


def _text(text: str) -> str:
    """A name of ours: letters, digits and hyphens."""
    return f'"{text}"'


def _flag(value: bool) -> str:
    return "true" if value else "false"
