"""The calls of a stream as a router sees them: whose KV each needs, who serves it, and who else could."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.factorize import factorize
from replay.residency.stream_file import StreamFile

__all__ = ["MINUTE_US", "Fleet", "fleet_of"]

MINUTE_US = 60_000_000


@dataclass(frozen=True, eq=False)
class Fleet:
    """Calls in stream order, and the servers that were seen.

    A *replica* is a deployment; the calls of unknown deployment are together on one more replica, the last. A *server*
    is a deployment in its service of one model, as seen in the stream. A call whose deployment or model is unknown is
    *fixed*: nobody knows who else could serve it, so every route leaves it where it is.

    Attributes
    ----------
    owner : int32[n]
        Whose KV the call needs: its session and model; of a fixed call its session, model and deployment.
    owners : int
    server : int32[n]
        Server by the log; -1 for a fixed call. The servers of a model are numbered in a row, in the order in which
        the stream first names their deployments.
    replica : int32[n]
        Replica by the log.
    replicas : int
        One more than the known deployments.
    tokens, time_us : int64[n]
        As in `replay.residency.stream.Stream`; time ascends.
    first_server : int64[models + 1]
        The servers of model m are `first_server[m]` to `first_server[m + 1] - 1`.
    model_of, replica_of : int32[servers]
    calls_of : int64[servers]
        Calls of each server by the log.
    """

    owner: NDArray[np.int32]
    owners: int
    server: NDArray[np.int32]
    replica: NDArray[np.int32]
    replicas: int
    tokens: NDArray[np.int64]
    time_us: NDArray[np.int64]
    first_server: NDArray[np.int64]
    model_of: NDArray[np.int32]
    replica_of: NDArray[np.int32]
    calls_of: NDArray[np.int64]

    @property
    def calls(self) -> int:
        return len(self.owner)

    @property
    def fixed(self) -> int:
        """Calls that every route leaves where they are."""
        return int(np.count_nonzero(self.server < 0))

    @property
    def deployments(self) -> int:
        """Known deployments."""
        return self.replicas - 1


def fleet_of(file: StreamFile) -> Fleet:
    """The calls of a stream file. Numbers follow the order of the stream alone, so that they are the same on every
    engine."""
    table = file.table
    model, models = _numbered(table["model"].fill_null(0).to_numpy(), unknown=0)
    replica, deployments = _numbered(table["deployment"].fill_null(-1).to_numpy(), unknown=-1)
    free = (model < models) & (replica < deployments)
    width = deployments + 1
    session_model = table["object_session+model"].to_numpy().astype(np.int64)
    owner, owners = factorize(session_model * (width + 1) + np.where(free, 0, replica.astype(np.int64) + 1))
    pairs = model[free].astype(np.int64) * width + replica[free]
    pair, count = factorize(pairs)
    of_pair = np.empty(count, np.int64)
    of_pair[pair] = pairs
    order = np.argsort(of_pair)
    known, rank = of_pair[order], np.empty(count, np.int32)
    rank[order] = np.arange(count, dtype=np.int32)
    server = np.full(len(owner), -1, np.int32)
    server[free] = rank[pair]
    calls = np.bincount(rank[pair], minlength=count)
    return Fleet(owner, owners, server, replica, width, _int64(table["tokens"].to_numpy()),
                 _int64(table["t_us"].to_numpy()),
                 np.searchsorted(known, np.arange(models + 1, dtype=np.int64) * width).astype(np.int64),
                 (known // width).astype(np.int32), (known % width).astype(np.int32), calls.astype(np.int64))


def _numbered(values: NDArray[np.int64], unknown: int) -> tuple[NDArray[np.int32], int]:
    """Numbers by first appearance, and how many are known; the unknown is the number that follows them."""
    known = values != unknown
    numbers = np.empty(len(values), np.int32)
    numbers[known], count = factorize(_int64(values[known]))
    numbers[~known] = count
    return numbers, count


def _int64(values: NDArray[np.generic]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, np.int64)
