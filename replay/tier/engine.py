"""How long a step of the server takes, and a link between device and host."""

from __future__ import annotations

from collections.abc import Iterable

from replay.tier.platform import Server

__all__ = ["Link", "Steps"]


class Steps:
    """Durations of steps, in microseconds.

    A step takes its overhead, then the longer of reading the weights and computing its tokens, then the time to read
    the KV of the requests that decode. Prefill of a token at position p costs 1 + p / attention_tokens.
    """

    def __init__(self, server: Server):
        self._overhead = server.step_overhead_us
        self._floor = server.step_floor_us
        self._token_us = 1_000_000 / server.prefill_tokens_per_s
        self._slope = 1 / server.attention_tokens
        self._read_us = 1_000_000 * server.kv_bytes_per_token / server.decode_kv_bytes_per_s

    def mixed(self, chunks: Iterable[tuple[int, int]], decoding: int, context: int) -> int:
        """A step that prefills chunks of (position, tokens) and decodes.

        Parameters
        ----------
        decoding : int
            Requests that decode.
        context : int
            Tokens of their contexts together.
        """
        tokens = float(decoding)
        for position, count in chunks:
            tokens += count * (1 + (position + count / 2) * self._slope)
        return self._whole(self._overhead + max(self._floor, tokens * self._token_us) + context * self._read_us)

    def decode(self, steps: int, decoding: int, context: int) -> int:
        """Consecutive steps that only decode; every context grows by a token a step."""
        step = self._overhead + max(self._floor, decoding * self._token_us)
        read = context * steps + decoding * (steps * (steps - 1) // 2)
        return self._whole(steps * step + read * self._read_us)

    @staticmethod
    def _whole(duration: float) -> int:
        """Time goes on, however fast the server."""
        return max(1, round(duration))


class Link:
    """One direction of the link: a copy begins when those before it have ended."""

    def __init__(self, bytes_per_s: int):
        self._bytes_per_s = bytes_per_s
        self._free_us = 0

    def copy(self, now_us: int, size: int) -> int:
        """When a copy of `size` bytes ends, in microseconds, rounded up."""
        self._free_us = max(self._free_us, now_us) + -(-size * 1_000_000 // self._bytes_per_s)
        return self._free_us
