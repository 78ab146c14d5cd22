"""Locks that the operating system releases when a run dies."""

from __future__ import annotations

import errno
import fcntl
import os

__all__ = ["lock"]

_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


def lock(descriptor: int) -> bool:
    """Take the lock of an open file, without waiting; False where another run has it.

    A file system without locks has none to take, and the run goes on.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    os.set_inheritable(descriptor, False)
    return True
