"""A completion of exactly so many tokens, streamed: when its first token came, and how many the server found cached."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from replay.live.http import Address, AnswerError, post_lines
from telemetry.errors import quoted

__all__ = ["Answer", "complete", "now_us"]

_DATA = "data:"
_DONE = "[DONE]"


@dataclass(frozen=True)
class Answer:
    """A completion that has ended.

    Attributes
    ----------
    first_token_us, end_us : int
        By `now_us`.
    prompt_tokens, output_tokens : int
    cached_tokens : int or None
        Prompt tokens that the server found, on the device or in the tier; None where it does not say. vLLM does not say
        0.
    """

    first_token_us: int
    end_us: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None


def now_us() -> int:
    """Microseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1000


async def complete(address: Address, model: str, prompt: Sequence[int], output_tokens: int,
                   params: Mapping[str, object], request: str, salt: str | None = None) -> Answer:
    """Ask for `output_tokens` tokens after a prompt of token ids, whatever the model would rather do.

    Parameters
    ----------
    params : mapping
        `kv_transfer_params` of the request.
    request : str
        Its name, which the server puts into its own.
    salt : str, optional
        `cache_salt`: what was cached under another is not found.

    Raises
    ------
    AnswerError
        The server gave no answer, another one, or one of another length.
    """
    body = {"model": model, "prompt": list(prompt), "max_tokens": output_tokens, "min_tokens": output_tokens,
            "ignore_eos": True, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
    if params:
        body["kv_transfer_params"] = dict(params)
    if salt is not None:
        body["cache_salt"] = salt
    first: int | None = None
    usage: Mapping[str, object] | None = None
    done = False
    answer = post_lines(address, "/v1/completions", json.dumps(body).encode(), {"X-Request-Id": request})
    async with aclosing(answer) as lines:
        async for line in lines:
            if not line.startswith(_DATA):
                continue
            text = line[len(_DATA):].strip()
            if text == _DONE:
                done = True
                break
            event = _event(text)
            if first is None and event.get("choices"):
                first = now_us()
            told = event.get("usage")
            usage = told if isinstance(told, dict) else usage
    end = now_us()
    if not done or first is None or usage is None:
        raise AnswerError("the answer ended before it was complete")
    return _checked(first, end, usage, len(prompt), output_tokens)


def _event(text: str) -> Mapping[str, object]:
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise AnswerError(f"no event of a completion: {quoted(text)}")
    if "error" in event:
        raise AnswerError(f"the server answers: {quoted(json.dumps(event['error']), 300)}")
    return event


def _checked(first: int, end: int, usage: Mapping[str, object], prompt: int, output: int) -> Answer:
    """The answer, if it has the lengths that were asked for."""
    lengths = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if lengths != (prompt, output):
        raise AnswerError(f"asked for {output:,} tokens after {prompt:,}, the server counts {quoted(lengths[1])} after "
                          f"{quoted(lengths[0])}")
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is not None and (type(cached) is not int or not 0 <= cached <= prompt):
        raise AnswerError(f"{quoted(cached)} cached tokens of {prompt:,}")
    return Answer(first, end, prompt, output, cached)
