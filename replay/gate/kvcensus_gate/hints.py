"""What a client says about a request: whose it is, when its next one comes, whether it is the last.

Hints travel in `kv_transfer_params` of a request (Tenure 8.2, Continuum-D 4.1). They come from outside and are
advice only: whatever a client sends, parsing raises nothing, and a field that cannot be used is left out and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

__all__ = ["LONGEST_GAP_MS", "LONGEST_ID", "MOST_TURNS", "NO_HINTS", "Hints", "parse_hints"]

#: Characters of a session id. A longer one is no id: records must not grow with what a client sends.
LONGEST_ID = 256
#: A year and a day. What is longer is not a tool call.
LONGEST_GAP_MS = 366 * 86_400_000
MOST_TURNS = 10**9


@dataclass(frozen=True)
class Hints:
    """The hints of one request, checked.

    Attributes
    ----------
    session_id : str or None
        None: the request is untagged.
    turn_idx : int or None
        Position of the turn in its session; no policy reads it.
    expected_gap_us : int or None
        Expected time from the end of this request to the next one of its session, in microseconds.
    last_turn : bool
        True: the session ends with this request.
    malformed : tuple of str
        Fields that were sent and could not be used.
    """

    session_id: str | None = None
    turn_idx: int | None = None
    expected_gap_us: int | None = None
    last_turn: bool = False
    malformed: tuple[str, ...] = ()

    def without_tags(self) -> Hints:
        """The session's identity alone: neither gap nor end."""
        return replace(self, expected_gap_us=None, last_turn=False)

    def without_identity(self) -> Hints:
        """Nothing: as if untagged."""
        return replace(NO_HINTS, malformed=self.malformed)


NO_HINTS = Hints()


def parse_hints(params: object) -> Hints:
    """The hints in a request's parameters; what cannot be used is named in `malformed`.

    Parameters
    ----------
    params : object
        `kv_transfer_params` as they arrived, or None. `session_id` is text of 1 to 256 characters, and `job_id` is
        another name for it; `turn_idx` is a whole number from 0; `expected_gap_ms` is a number from 0 to 366 days;
        `last_turn` is true or false. Anything else in them belongs to somebody else.
    """
    if not isinstance(params, Mapping):
        return NO_HINTS if params is None else Hints(malformed=("kv_transfer_params",))
    malformed = []
    identity = None
    for name in ("job_id", "session_id"):
        value = params.get(name)
        if type(value) is str and 0 < len(value) <= LONGEST_ID:
            identity = value
        elif value is not None:
            malformed.append(name)
    turn = params.get("turn_idx")
    if turn is not None and not (type(turn) is int and 0 <= turn <= MOST_TURNS):
        malformed.append("turn_idx")
        turn = None
    gap = params.get("expected_gap_ms")
    # A comparison with NaN is false, and one of integers never overflows.
    if gap is not None and not (type(gap) in (int, float) and 0 <= gap <= LONGEST_GAP_MS):
        malformed.append("expected_gap_ms")
        gap = None
    last = params.get("last_turn")
    if last is not None and type(last) is not bool:
        malformed.append("last_turn")
    return Hints(session_id=identity, turn_idx=turn, expected_gap_us=None if gap is None else round(gap * 1000),
                 last_turn=last is True, malformed=tuple(malformed))
