"""Prompts as token ids: two of them share exactly the prefix that is asked for.

Prompts are paths in a tree of runs of tokens. A prompt leaves another at a token of one of its runs, where a new run
begins with a token that no other prompt has there; so what two prompts share ends where their paths part, to the token.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from telemetry.errors import UsageError

__all__ = ["EMPTY", "Prompt", "PromptTree", "common_prefix"]


@dataclass(frozen=True)
class Prompt:
    """A path in a tree of runs.

    Attributes
    ----------
    runs : tuple of int
        Runs, the first token first.
    ends : tuple of int
        For each, how many tokens the prompt has up to the end of what it takes of it.
    """

    runs: tuple[int, ...]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        """Tokens."""
        return self.ends[-1] if self.ends else 0


EMPTY = Prompt((), ())

#: A place between two tokens: a run, and how many of its tokens stand before it. The root is before every run.
_Place = tuple[int, int]
_ROOT: _Place = (-1, 0)


class PromptTree:
    """Prompts of one seed.

    Parameters
    ----------
    seed : int
        Equal seeds and equal calls in the same order give equal tokens.
    vocabulary : range
        The ids that may be used.
    """

    def __init__(self, seed: int, vocabulary: range):
        self._seed = seed
        self._vocabulary = vocabulary
        self._runs: list[array[int]] = []
        self._taken: dict[_Place, set[int]] = {}
        self._named: dict[tuple[_Place, int], int] = {}

    def branch(self, prompt: Prompt, shared: int, length: int, name: str) -> Prompt:
        """A prompt of `length` tokens that has the first `shared` of another, and not its next one.

        Parameters
        ----------
        shared : int
            At most the length of either.
        name : str
            Decides the new tokens, with the seed.

        Raises
        ------
        UsageError
            As many prompts leave this one at this place as the vocabulary has tokens.
        """
        kept = self._cut(prompt, shared)
        if length == shared:
            return kept
        run = self._run(self._place(prompt, shared), length - shared, name)
        return Prompt((*kept.runs, run), (*kept.ends, length))

    def blocks(self, keys: Iterable[tuple[int, int]]) -> Prompt:
        """A prompt of named blocks: prompts share as many leading blocks as they have keys in common.

        Parameters
        ----------
        keys : iterable of (int, int)
            For each block its key and the tokens of the prompt up to its end, which grow.
        """
        place, start = _ROOT, 0
        runs, ends = [], []
        for key, end in keys:
            run = self._named.get((place, key))
            if run is None:
                run = self._named[place, key] = self._run(place, end - start, f"block {place} {key}")
            runs.append(run)
            ends.append(end)
            place, start = (run, end - start), end
        return Prompt(tuple(runs), tuple(ends))

    def tokens(self, prompt: Prompt) -> list[int]:
        """The ids of a prompt."""
        found: list[int] = []
        for run, end in zip(prompt.runs, prompt.ends, strict=True):
            found.extend(self._runs[run][:end - len(found)])
        return found

    def _cut(self, prompt: Prompt, tokens: int) -> Prompt:
        """The first tokens of a prompt."""
        if not tokens:
            return EMPTY
        at = bisect_left(prompt.ends, tokens)
        return Prompt(prompt.runs[:at + 1], (*prompt.ends[:at], tokens))

    def _place(self, prompt: Prompt, tokens: int) -> _Place:
        """Where the first tokens of a prompt end; at the seam of two runs, in the one before it."""
        if not tokens:
            return _ROOT
        at = bisect_left(prompt.ends, tokens)
        return prompt.runs[at], tokens - (prompt.ends[at - 1] if at else 0)

    def _run(self, place: _Place, length: int, name: str) -> int:
        draw, words = Random(f"prompt {self._seed} {name}"), self._vocabulary
        tokens = array("q", draw.choices(words, k=length))
        taken = self._taken.setdefault(place, set())
        run, offset = place
        if run >= 0 and offset < len(self._runs[run]):
            taken.add(self._runs[run][offset])
        if len(taken) >= len(words):
            raise UsageError(f"{len(taken) + 1:,} prompts part after the same token, and the vocabulary has "
                             f"{len(words):,}. Sample fewer sessions, or serve a model with more tokens.")
        while tokens[0] in taken:
            tokens[0] = words[(tokens[0] - words.start + 1) % len(words)]
        taken.add(tokens[0])
        self._runs.append(tokens)
        return len(self._runs) - 1


def common_prefix(one: Prompt, other: Prompt) -> int:
    """How many leading tokens two prompts of one tree share."""
    shared = 0
    for run, end, other_run, other_end in zip(one.runs, one.ends, other.runs, other.ends, strict=False):
        if run != other_run:
            break
        shared = min(end, other_end)
        if end != other_end:
            break
    return shared
