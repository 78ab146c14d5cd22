"""What the simulator keeps of a session and of a request on the server."""

from __future__ import annotations

from collections.abc import Sequence

from kvcensus_gate import Hints
from replay.tier.workload import Turn

__all__ = ["Client", "Request"]


class Client:
    """A session as its client and the caches know it.

    Attributes
    ----------
    keys : list of int
        Identities of the whole blocks of its context.
    latest : int
        The turn that came last.
    version : int
        How often the context was cut.
    """

    __slots__ = ("hints", "index", "keys", "latest", "turns", "version")

    def __init__(self, index: int, turns: Sequence[Turn], hints: list[Hints]):
        self.index = index
        self.turns = turns
        self.hints = hints
        self.keys: list[int] = []
        self.latest = -1
        self.version = 0


class Request:
    """A request on the server; see `TurnRecord` for what is measured."""

    __slots__ = ("admitted_us", "arrival_us", "client", "device_blocks", "first_us", "keys", "loading", "name", "new",
                 "offered", "output", "position", "prompt", "tier_blocks", "turn", "version", "warm")

    def __init__(self, client: Client, turn: int, prompt: int, output: int, keys: list[int], now_us: int, warm: bool):
        self.client = client
        self.version = client.version
        self.turn = turn
        self.prompt = prompt
        self.output = output
        self.keys = keys
        self.name = f"{client.index}.{turn}{'w' if warm else ''}"
        self.arrival_us = self.admitted_us = self.first_us = now_us
        self.warm = warm
        self.device_blocks = self.tier_blocks = self.new = self.position = self.offered = 0
        self.loading: list[int] = []
