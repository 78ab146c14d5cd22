"""Which model serves a call, and where: classes, models, places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipelines.fitting.rows import Rows
from pipelines.fitting.support import Support
from tracesim.compiled import Longs, compiled
from tracesim.profile import CLASSES, Classes, Model, Placement

__all__ = ["fit_classes", "fit_placement", "settled"]

_SCALE = 10**4  # probabilities have four digits


def settled(rows: Rows, support: Support) -> tuple[Rows, Longs]:
    """The rows with a model each, and the class of each call.

    Calls without a model have that of the session's call before, else the commonest; a class with fewer than k
    sessions is taken for the commonest one.
    """
    model, kind = rows.model.copy(), rows.kind
    if (kind < 0).all():
        return replace(rows, model=np.zeros_like(model), class_of={0: ("spine", "spine")}), np.zeros_like(kind)
    unknown = kind < 0
    if unknown.any():
        support.pooled.append(f"{int(unknown.sum())} calls without a model: as the session's call before")
        known = np.where(unknown, -1, np.arange(len(kind)))
        before = np.maximum.accumulate(known)
        ours = before >= rows.offsets[:-1][rows.session]
        common = int(np.bincount(model[~unknown]).argmax())
        model = np.where(ours, model[np.maximum(before, 0)], common)
    rows = replace(rows, model=model)
    kind = rows.kind
    common = int(np.bincount(kind).argmax())
    for place in np.unique(kind):
        count = len(np.unique(rows.session[kind == place]))
        if count < support.k and place != common:
            support.pooled.append(f"class {CLASSES[place]} ({count} sessions): as {CLASSES[common]}")
            kind = np.where(kind == place, common, kind)
    return rows, kind


def fit_classes(rows: Rows, kind: Longs, support: Support) -> Classes:
    """Probabilities of the first class and of the next one, and models of made-up names."""
    count = len(CLASSES)
    begins = rows.offsets[:-1]
    later = np.flatnonzero(rows.index > 0)
    overall = np.bincount(kind, minlength=count)
    first = _shares(_supported("first classes", kind[begins], rows.session[begins], overall, support))
    following = []
    for place, name in enumerate(CLASSES):
        leaving = later[kind[later - 1] == place]
        enough = support.enough(rows.session[leaving])
        if not enough and len(leaving):
            support.pooled.append(f"classes after {name} ({len(np.unique(rows.session[leaving]))} sessions): as all")
        following.append(_shares(_supported(f"classes after {name}", kind[leaving], rows.session[leaving], overall,
                                            support) if enough else overall))
    return Classes(first, tuple(following), tuple(_models(rows, kind, support)))


def _supported(what: str, kind: Longs, session: Longs, overall: Longs, support: Support) -> Longs:
    """How often each class is entered, in millionths of a call; those that fewer than k sessions enter are told
    together, or left out."""
    weights = 1e6 * support.weights(what, session)
    counts = np.bincount(kind, weights=weights, minlength=len(CLASSES)).astype(np.int64)
    sessions = [len(np.unique(session[kind == place])) for place in range(len(CLASSES))]
    rare = np.array([0 < number < support.k for number in sessions])
    if not rare.any():
        return counts
    together = np.isin(kind, np.flatnonzero(rare))
    told = support.enough(session[together])
    names = ", ".join(name for name, few in zip(CLASSES, rare, strict=True) if few)
    support.pooled.append(f"{names} among {what} ({len(np.unique(session[together]))} sessions): "
                          f"{'as common as among all calls' if told else 'left out'}")
    counts[rare] = counts[rare].sum() * overall[rare] // overall[rare].sum() if told else 0
    return counts


def _shares(counts: Longs) -> tuple[float, ...]:
    """Probabilities of four digits that sum to 1."""
    shares = np.floor(counts * _SCALE / counts.sum()).astype(np.int64)
    shares[int(counts.argmax())] += _SCALE - int(shares.sum())
    return tuple(float(share) / _SCALE for share in shares.tolist())


def _models(rows: Rows, kind: Longs, support: Support) -> list[Model]:
    """By class, its models that k sessions begin the class with; the commonest stands for the others."""
    found = []
    for place in np.unique(kind).tolist():
        mine = np.flatnonzero(kind == place)
        _, begins = np.unique(rows.session[mine], return_index=True)
        models, sessions = np.unique(rows.model[mine[begins]], return_counts=True)
        common = int(models[sessions.argmax()])
        own = [(int(model), int(n)) for model, n in zip(models, sessions, strict=True)
               if model == common or n >= support.k]
        own.sort(key=lambda pair: -pair[1])
        if len(own) < len(models):
            support.pooled.append(f"{len(models) - len(own)} models of class {CLASSES[place]} (fewer than {support.k} "
                                  "sessions each): as its commonest")
        total = sum(n for _, n in own)
        for number, (model, n) in enumerate(own, start=1):
            broad = rows.class_of[model][1]
            found.append(Model(f"{CLASSES[place]}-{number:02d}", CLASSES[place], broad, round(n / total, 3) or 0.001))
    return found


_HOME, _AWAY, _STAYED, _MOVED, _FAR, _RETURNED, _RETURNED_MOVED, _RETURNED_FAR = range(1, 9)


def fit_placement(rows: Rows, support: Support) -> Placement | None:
    """Homes and moves; None where no deployment is told. Names are made up."""
    told = rows.deployment >= 0
    if not told.any() or not support.enough(rows.session[told]):
        return None
    region = rows.region if (rows.region >= 0).any() else np.where(told, 0, -1)
    code = _moves(rows.offsets, rows.model, int(rows.model.max()) + 1, region, rows.deployment)
    homes = region[rows.offsets[:-1]]
    count = np.unique(homes[homes >= 0], return_counts=True)[1]
    own = np.sort(count[count >= support.k])[::-1]
    if len(own) < len(count):
        support.pooled.append(f"{len(count) - len(own)} regions (home of fewer than {support.k} sessions each): left "
                              "out")
    shares = _shares(own) if len(own) else (1.0,)
    places = len(np.unique(np.stack((rows.model[told], rows.deployment[told])), axis=1).T)
    of_regions = len(np.unique(np.stack((rows.model[told], region[told])), axis=1).T)
    stay = _chances(rows, code, (_STAYED, _MOVED, _FAR), support, "moves between consecutive calls", (0.0, 0.0))
    back = _chances(rows, code, (_RETURNED, _RETURNED_MOVED, _RETURNED_FAR), support, "moves at returns", stay)
    met = np.isin(code, (_HOME, _AWAY))
    home = support.share("first calls to a model at home", code[met] == _HOME, rows.session[met], 1.0, "always")
    return Placement(tuple(f"region-{number:02d}" for number in range(1, len(shares) + 1)), shares,
                     min(max(round(places / of_regions), 2 if stay[0] or back[0] else 1), 127), home, stay[0], stay[1],
                     back[0], back[1], 0.0)


def _chances(rows: Rows, code: Longs, codes: tuple[int, int, int], support: Support, what: str,
             instead: tuple[float, float]) -> tuple[float, float]:
    """Probabilities of another deployment, and of another region."""
    mine = np.isin(code, codes)
    near = support.share(what, code[mine] == codes[1], rows.session[mine], instead[0], "others")
    far = support.share(f"{what} of regions", code[mine] == codes[2], rows.session[mine], instead[1], "others")
    return near, far


@compiled
def _moves(offsets: Longs, model: Longs, models: int, region: Longs, deployment: Longs) -> Longs:
    """What each call does; 0 for the first of a session, and where a place is not known."""
    code = np.zeros(len(model), np.int64)
    last = np.empty(models, np.int64)
    for place in range(len(offsets) - 1):
        last[:] = -1
        for row in range(offsets[place], offsets[place + 1]):
            before, home = last[model[row]], offsets[place]
            last[model[row]] = row
            if row == home or region[row] < 0 or deployment[row] < 0:
                continue
            if before < 0:
                if region[home] >= 0:
                    code[row] = 1 if region[row] == region[home] else 2
            elif region[before] >= 0 and deployment[before] >= 0:
                code[row] = 3 if before == row - 1 else 6
                if region[row] != region[before]:
                    code[row] += 2
                elif deployment[row] != deployment[before]:
                    code[row] += 1
    return code
