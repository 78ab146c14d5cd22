"""What the end of a log hides: what is long is seen whole only if it began early, and the last sessions go on.

A log that was cut at its end shows sessions that had more to come as if they were short, and long ones too seldom. The
first is a matter of chance: a session that has been silent for u since its last call has ended if it ended there, or
goes on after a longer gap,

    P(ended) = h / (h + (1 - h) S(u)),

with h the share of the calls of such depth that are a session's last, and S(u) that of gaps longer than u. Weighed with
it and with 1 / the share of the beginnings that leave room for its span, a session stands for all of its like.
"""

from __future__ import annotations

import numpy as np

from pipelines.fitting.rows import Rows
from tracesim.compiled import Floats, Longs

__all__ = ["seen_weights", "session_weights"]

_SELDOM = 0.05  # a length that fits after fewer of the beginnings stands for 20, not for more
_ROUNDS = 10  # h and P(ended) each follow from the other


def seen_weights(begins_us: Longs, lengths_us: Longs, end_us: int) -> Floats:
    """How many of its like each length stands for: a long one is seen whole only if it begins early enough.

    The weight of a length is 1 / the share of the beginnings after which it fits before the end of the log.

    Parameters
    ----------
    begins_us, lengths_us : int64 arrays
        Beginnings, of which each is as likely as another; lengths that were seen. They need not be paired.
    end_us : int
        Of the log.
    """
    fits = np.searchsorted(np.sort(begins_us), end_us - lengths_us, side="right") / len(begins_us)
    return np.asarray(1 / np.maximum(fits, _SELDOM))


def session_weights(rows: Rows) -> Floats:
    """How many sessions of its depth each session of a log that may cut them stands for.

    Returns
    -------
    float64 array of shape (sessions,)
        Above 0.
    """
    end = int(rows.t_us.max())
    weights = seen_weights(rows.t_us[rows.offsets[:-1]], rows.spans_us, end)
    return weights * _ended(rows, end - rows.t_us[rows.offsets[1:] - 1])


def _ended(rows: Rows, silent_us: Longs) -> Floats:
    """Probability that a session has ended which has been silent for so long."""
    longer = _longer(rows, silent_us)
    ended = np.ones(rows.sessions)
    level = np.frexp(rows.depths)[1]  # depths from a power of two to the next end alike
    made = np.bincount(np.frexp(rows.index + 1)[1], minlength=int(level.max()) + 1)
    for _ in range(_ROUNDS):
        lasts = np.bincount(level, weights=ended) / np.maximum(made, 1)
        h = np.clip(lasts, 1e-6, 1.0)[level]
        ended = h / (h + (1 - h) * longer)
    return ended


def _longer(rows: Rows, silent_us: Longs) -> Floats:
    """Share of the gaps that are longer than each silence; of the log's last calls, all."""
    later = rows.index > 0
    gaps = rows.gap_us[later]
    if not len(gaps):
        return np.zeros(len(silent_us))
    weights = seen_weights(rows.t_us, gaps, int(rows.t_us.max()))
    order = np.argsort(gaps)
    upto = np.concatenate(([0.0], np.cumsum(weights[order])))
    return np.asarray(1 - upto[np.searchsorted(gaps[order], silent_us, side="right")] / upto[-1])
