"""Clients of a live server: sessions that advance by barrier, so that nothing depends on how fast the server is."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any

FIRST_WORD, WORDS = 4, 512
SESSIONS, TURNS = 24, 6
OUTPUT_TOKENS = 8
#: Tokens of a first prompt, and by which a prompt grows beside the answer. Odd, so that blocks end inside turns.
FIRST_TOKENS, MORE_TOKENS = 261, 83
#: What a hint says of a round. Far longer than one takes: no session is late, on however slow a machine.
ROUND_MS = 60_000


@dataclass
class Session:
    """A conversation: when its turns come, and what was said so far."""

    name: str
    rounds: list[int]
    draw: Random
    context: list[int] = field(default_factory=list)
    answers: list[list[int]] = field(default_factory=list)

    def prompt(self) -> list[int]:
        """The next prompt: all that was said, and more."""
        tokens = MORE_TOKENS if self.context else FIRST_TOKENS
        self.context += [self.draw.randrange(FIRST_WORD, WORDS) for _ in range(tokens)]
        return self.context

    def hints(self) -> dict[str, object]:
        """Of the turn that comes next."""
        turn = len(self.answers)
        last = turn == len(self.rounds) - 1
        hints: dict[str, object] = {"session_id": self.name, "turn_idx": turn, "last_turn": last}
        if not last:
            hints["expected_gap_ms"] = ROUND_MS * (self.rounds[turn + 1] - self.rounds[turn])
        return hints


def make_sessions(seed: int = 1) -> list[Session]:
    """A new session every round; a turn comes two to five rounds after the one before."""
    draw = Random(seed)
    sessions = []
    for number in range(SESSIONS):
        rounds = [number]
        while len(rounds) < TURNS:
            rounds.append(rounds[-1] + draw.randint(2, 5))
        sessions.append(Session(f"session {number}", rounds, Random(f"{seed} {number}")))
    return sessions


def working_set_tokens(sessions: list[Session]) -> int:
    """Most context of unfinished sessions at any round, in tokens."""
    def tokens(session: Session, now: int) -> int:
        turns = sum(when <= now for when in session.rounds)
        live = turns and now <= session.rounds[-1]
        return FIRST_TOKENS + (turns - 1) * (MORE_TOKENS + OUTPUT_TOKENS) if live else 0

    last = max(session.rounds[-1] for session in sessions)
    return max(sum(tokens(session, now) for session in sessions) for now in range(last + 1))


def run_sessions(url: str, sessions: list[Session], workers: int = 8) -> None:
    """Round by round: all turns of a round at once, and the next when all have ended."""
    with ThreadPoolExecutor(workers) as pool:
        for now in range(max(session.rounds[-1] for session in sessions) + 1):
            due = [session for session in sessions if now in session.rounds]
            for session, answer in zip(due, pool.map(lambda each: take_turn(url, each), due), strict=True):
                session.answers.append(answer)
                session.context += answer


def take_turn(url: str, session: Session) -> list[int]:
    """One request; returns the tokens of the answer."""
    return complete(url, session.prompt(), session.hints())["choices"][0]["token_ids"]  # type: ignore[no-any-return]


def complete(url: str, prompt: list[int], hints: object, tokens: int = OUTPUT_TOKENS,
             more: Mapping[str, object] | None = None) -> Any:
    """POST /v1/completions with greedy sampling."""
    body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True, "kv_transfer_params": hints, **(more or {})}
    request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)
