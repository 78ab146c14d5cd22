"""What a server says of itself: the Prometheus text of /metrics as numbers."""

from __future__ import annotations

import http.client
import re
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from telemetry.errors import InputError, quoted

__all__ = ["Sample", "Scrape", "metrics_text", "parse_metrics", "scrape"]

_LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*')
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One line: a value under its labels."""

    labels: Mapping[str, str]
    value: float


class Scrape:
    """The samples of one answer, by metric.

    >>> text = 'hits_total{engine="0"} 3.0\\nhits_total{engine="1"} 4.0\\n'
    >>> parse_metrics(text).total("hits_total")
    7.0
    >>> parse_metrics(text).total("hits_total", engine="1")
    4.0
    """

    def __init__(self, samples: Mapping[str, list[Sample]]):
        self.samples = samples

    def __contains__(self, name: str) -> bool:
        return name in self.samples

    def total(self, name: str, **labels: str) -> float:
        """Sum of a metric's samples that have these labels, 0 if none has.

        Raises
        ------
        InputError
            The server does not know the metric: that is not 0.
        """
        if name not in self.samples:
            raise InputError(f"the server publishes no metric {quoted(name)}. It has {len(self.samples)} others; is "
                             "this a server of another version, or one without the part that is asked about?")
        return sum(sample.value for sample in self.samples[name]
                   if all(sample.labels.get(label) == value for label, value in labels.items()))


def parse_metrics(text: str) -> Scrape:
    """Prometheus text as numbers.

    Raises
    ------
    InputError
        A line that is neither a sample nor a comment; the message names it.
    """
    samples: dict[str, list[Sample]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise InputError(f"line {number} of the server's metrics is no sample: {quoted(line)}.")
        name, labels, value = match.groups()
        try:
            sample = Sample(_labels(labels or ""), float(value))
        except ValueError as error:
            raise InputError(f"line {number} of the server's metrics cannot be read: {quoted(line)}.") from error
        samples.setdefault(name, []).append(sample)
    return Scrape(samples)


def scrape(url: str, timeout_s: float = 10.0) -> Scrape:
    """Read `url`/metrics.

    Raises
    ------
    InputError
        No answer, or one that is no Prometheus text.
    """
    return parse_metrics(metrics_text(url, timeout_s))


def metrics_text(url: str, timeout_s: float = 10.0) -> str:
    """What `url`/metrics answers.

    Raises
    ------
    InputError
        No answer.
    """
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=timeout_s) as answer:
            return str(answer.read().decode("utf-8", errors="replace"))
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url}/metrics gave no answer: {error}. Is the server running?") from error


def _labels(text: str) -> dict[str, str]:
    labels = {}
    position = 0
    while position < len(text):
        match = _LABEL.match(text, position)
        if match is None:
            raise ValueError(text)
        labels[match[1]] = re.sub(r'\\[\\"n]', lambda escape: _ESCAPES[escape[0]], match[2])
        position = match.end()
    return labels
