"""The parameters of the components, as formulas of a source's printed numbers; `measured` has tables instead."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BANDS", "CLASSES", "Arrivals", "Classes", "Context", "Depth", "Durations", "Gaps", "Model", "Part",
           "Placement", "Reuse", "Row", "Turns", "Window"]

#: Roles of models in a session, in the order of every list by class.
CLASSES = ("spine", "mid", "scoped", "fanout")

#: Edges of the bands of reuse in which a profile gives probabilities: the thresholds that the paper prints.
BANDS = (0.0, 0.2, 0.8, 0.95, 1.0)

Row = tuple[float, ...]


@dataclass(frozen=True)
class Window:
    """The time range of a trace.

    Attributes
    ----------
    start_us : int
        Microseconds UTC.
    days : float
    sessions : int
        Sessions that start in it.
    cuts : bool
        Calls after its end are left out. Where sessions were measured in a window, they are cut already.
    """

    start_us: int
    days: float
    sessions: int
    cuts: bool = True


@dataclass(frozen=True)
class Arrivals:
    """When sessions start.

    Attributes
    ----------
    hours, days : tuple of float
        Weights of the hours of a day and of the days of a week, Monday first.
    starts : tuple of (float, float)
        In their place: share of the window, share of the sessions that start before it; from share 0 to 1.
    """

    hours: Row
    days: Row
    starts: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Part:
    """A lognormal part of a mixture."""

    weight: float
    median: float
    sigma: float


@dataclass(frozen=True)
class Depth:
    """Calls of a session: a mixture of lognormals, rounded; at least 1, at most `most`. The medians are multiplied by
    the arrival rate at its start, relative to the mean, to the power of `deepens`."""

    parts: tuple[Part, ...]
    most: int
    deepens: float = 0.0


@dataclass(frozen=True)
class Turns:
    """`opens`: probability that a call after the first opens a user turn, by band of depth."""

    opens: Row


@dataclass(frozen=True)
class Gaps:
    """Seconds from start to start: lognormal parts within a turn, between turns a table of (share, seconds)."""

    intra: tuple[Part, ...]
    inter: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Model:
    """A model: its name, its class under both mappings, its share of the sessions that use its class."""

    name: str
    conservative: str
    broad: str
    share: float


@dataclass(frozen=True)
class Classes:
    """A Markov chain over the classes: of the first call, and of the next one by class."""

    first: Row
    following: tuple[Row, ...]
    models: tuple[Model, ...]


@dataclass(frozen=True)
class Placement:
    """Where calls are served.

    Attributes
    ----------
    regions : tuple of str
    shares : tuple of float
        Of the regions, as homes of sessions.
    deployments : int
        Of each model in each region.
    home : float
        Probability that a session's first call to a model goes to its home region.
    move_deployment, move_region : float
        For a call to the model of its predecessor: another deployment of the region, another region.
    return_deployment, return_region : float
        The same for a call that returns to a model after calls to others.
    spread : float
        Sigma of a session's own lognormal factor, of median 1, on all four: some sessions never move.
    """

    regions: tuple[str, ...]
    shares: Row
    deployments: int
    home: float
    move_deployment: float
    move_region: float
    return_deployment: float
    return_region: float
    spread: float


@dataclass(frozen=True)
class Context:
    """How the context of a session grows, and shrinks.

    Attributes
    ----------
    first : float
        Median tokens of the first call.
    spread : float
        Sigma of a session's own lognormal factor.
    growth, calls : float
        The main thread approaches 1 + growth times its first size; each call closes 1 / calls of what is left.
    noise : float
        Sigma of the lognormal factor, of mean 1, on each such step.
    deeper : float
        Exponent of the session's depth in calls, as a factor on its growth.
    limit, limit_spread : float
        Where a session's main thread stops growing: lognormal median and sigma, at most `window` tokens.
    compacts : float
        Probability that the main thread is compacted before a call.
    compacted : tuple of float
        Share of it that a compaction leaves: smallest, largest.
    side : tuple of float
        By class: probability that a call carries an extract of the main thread only.
    extract, extract_spread : float
        Lognormal median and sigma of the extract's share.
    bursts : tuple of float
        By class: probability that a call carries more than the main thread, once.
    burst, burst_spread : float
        Lognormal median and sigma of the factor.
    scale : tuple of float
        By class: context relative to the main thread.
    least, window : int
        Fewest and most tokens of a call.
    """

    first: float
    spread: float
    growth: float
    calls: float
    noise: float
    deeper: float
    limit: float
    limit_spread: float
    compacts: float
    compacted: tuple[float, float]
    side: Row
    extract: float
    extract_spread: float
    bursts: Row
    burst: float
    burst_spread: float
    scale: Row
    least: int
    window: int


@dataclass(frozen=True)
class Reuse:
    """Probabilities of the bands of reuse (`BANDS`) in each situation.

    Attributes
    ----------
    first : tuple of float
        First call of a session.
    same : tuple of tuple
        By class: the predecessor was a call to the same model on the same deployment.
    switch : tuple of tuple
        By class: it was a call to another model.
    excursion : tuple of tuple
        A Spine call after 1, 2, 3 and more calls to other classes.
    cross_deployment, cross_region : tuple of float
        The model was last called on another deployment, in another region.
    extract : tuple of tuple
        By class: as `same`, for a call that carries an extract of the thread.
    idle : tuple of (seconds, probability)
        State survives a gap of at least so many seconds with this probability, else as `lost`.
    lost : tuple of float
    block : int
        Tokens of a block; whole blocks are cached.
    effectiveness : float
        Probability that a call finds what it would find; else nothing.
    """

    first: Row
    same: tuple[Row, ...]
    switch: tuple[Row, ...]
    excursion: tuple[Row, ...]
    cross_deployment: Row
    cross_region: Row
    extract: tuple[Row, ...]
    idle: tuple[tuple[float, float], ...]
    lost: Row
    block: int
    effectiveness: float


@dataclass(frozen=True)
class Durations:
    """Engine time as a share of the gap that follows within the turn, and the output it makes.

    Attributes
    ----------
    busy : tuple of float
        Smallest and largest share, uniform between; above 1, calls overlap.
    most_s : float
        Longest engine time of a call.
    tokens_per_s : float
        Median speed of output.
    speed_spread : float
        Sigma of the lognormal factor on it.
    """

    busy: tuple[float, float]
    most_s: float
    tokens_per_s: float
    speed_spread: float
