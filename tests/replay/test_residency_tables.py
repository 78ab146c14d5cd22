"""Every policy on ten calls, worked out by hand.

A table has a line a call: the call (`A4`: object A, now of 4 tokens; `@100`: 100 seconds after the first), what it
finds, what is held after it (`A` whole, `a` as a copy; `-` nothing), and why. Nothing is released, so that what is
held can be asked for: by the same calls up to there and one more.
"""

from __future__ import annotations

import re

import pytest
from residency_streams import written

from replay.residency.policy import HIT, MISSED, PROMOTED, find_policy, log_policy
from replay.residency.stream import UNITS

WORDS = {HIT: "hit", PROMOTED: "copy", MISSED: "miss"}

LRU = """
    A4   miss  A
    B4   miss  A B
    C4   miss  B C    12 > 10: A, the oldest, goes
    B5   hit   B C
    A1   miss  A B C  10 is not over 10
    C2   hit   A B C  C shrinks: 8
    B8   hit   B C    2 + 8 + 1 > 10: A, accessed before C, goes
    A11  miss  -      21 > 10: C goes, B goes, and A is too large alone
    C0   miss  C
    C10  hit   C
"""
TTL = """
    A4@0     miss  A
    B4@100   miss  A B
    A4@300   hit   A B    idle for 300 s, as long as the cap
    C1@401   miss  A C    B was last used at 100, 301 s ago, and is gone
    B4@401   miss  A B C
    A4@600   hit   A B C
    D4@650   miss  A D    13 > 10: C goes, 12 > 10: B goes, as under LRU
    A4@901   miss  A D    301 s after 600; D, of 650, is still there
    D11@901  hit   -      15 > 10: A goes; D is too large alone
    A0@901   miss  A
"""
# A is called at 0, 2 and 5; B at 1, 4, 7 and 8; C at 3, 6 and 9.
FNU = """
    A6  miss  A
    B6  miss  A    12 > 10: A is used at 2, B at 4: B itself goes
    A6  hit   A
    C3  miss  A C
    B4  miss  A C  13 > 10: A is used at 5, C at 6, B at 7: B itself goes
    A6  hit   A C
    C3  hit   A C
    B6  miss  B C  15 > 10: A is not used again
    B4  hit   B C
    C3  hit   B C
"""
SIZE_AWARE = """
    A8  miss  A
    B1  miss  A B
    C4  miss  A B    13 > 10: A 8 * 1, B 1 * 3, C 4 * 2: of the two largest C is used later, and goes
    A8  hit   A B
    C4  miss  B C    13 > 10: A 8 * 2, B 1 * 1, C 4 * 3: A goes
    B1  hit   B C
    A8  miss  B C    13 > 10: A 8 * 2, B 1 * 3, C 4 * 1: A itself goes
    C4  hit   B C
    A2  miss  A B C
    B1  hit   A B C
"""
MRR = """
    A8   miss  A
    B8   miss  a B      16 > 10: (1) A becomes a copy of 2
    A8   copy  A b      the copy goes; 16 > 10: B becomes one of 2
    B4   copy  a B      12 > 10: A a copy of 2
    C4   miss  a B C    10
    D4   miss  a b c D  14 > 10: B a copy of 1, 11 > 10: C a copy of 1
    B8   copy  B c d    2 + 1 + 4 + 8 > 10: D a copy of 1, 12 > 10: (2) the copy of A, used longest ago, goes
    A1   miss  A b c d  11 > 10: B a copy of 2
    C12  copy  c        16 > 10: A a copy, copies of D, B and A go, 12 > 10: (3) C itself becomes a copy of 3
    C41  copy  -        (3) its copy would be 10.25 > 10: (4) it goes
"""
# A copy of 16 tokens takes 5; the budget is 26.
MRR_Q40 = """
    A16  miss  A
    B16  miss  a B
    C16  miss  a b C    5 + 5 + 16 = 26
    D16  miss  b c D    31 > 26: A goes
    A16  miss  A c d    31 > 26: B goes
    C16  copy  a C d
    D0   copy  a C D
    D16  hit   a c D    37 > 26: C becomes a copy
    E8   miss  a c d E  34 > 26: D becomes a copy
    B16  miss  B d e    39 > 26: E becomes a copy of 2.5, 33.5 > 26: A and C go
"""
# GPU memory and host tier of 8 each; in brackets what moves down (-) and up (+).
MRR_HOST_1 = """
    A8   miss  A
    B8   miss  a B      (-2)
    C8   miss  a b C    (-2)
    A4   copy  A b c    (+2) 12 > 8: C goes down (-2)
    D16  miss  a c d    20 > 8: A (-1), and D, too large alone (-4); 2 + 2 + 1 + 4 > 8: the copy of B goes
    B4   miss  a B c d
    D4   copy  a B c D  (+4)
    C8   copy  a b C d  (+2) 16 > 8: B (-1), D (-1)
    B33  copy  -        (+1) C (-2), B (-8.25); 12.25 > 8: A, D, C go, and the newcomer, too large alone
    A1   miss  A
"""
MRR_UNBOUNDED = """
    A8   miss  A
    B8   miss  a B      (-2)
    C8   miss  a b C    (-2)
    A4   copy  A b c    (+2) (-2)
    D16  miss  a b c d  (-1) (-4)
    B4   copy  a B c d  (+2)
    D4   copy  a B c D  (+4)
    C8   copy  a b C d  (+2) (-1) (-1)
    B33  copy  a b c d  (+1) (-2) (-8.25)
    A1   copy  A b c d  (+1)
"""

TABLES = [
    ("lru", 10, LRU), ("lru_at_B_over_q", 2.5, LRU), ("ttl_5m", 10, TTL), ("fnu", 10, FNU),
    ("size_aware", 10, SIZE_AWARE), ("mrr", 10, MRR), ("mrr_q40", 26, MRR_Q40), ("mrr_host_1", 8, MRR_HOST_1),
    ("mrr_unbounded", 8, MRR_UNBOUNDED),
]
NAMES = [name for name, _, _ in TABLES]


def read(table: str) -> list[list[str]]:
    """Call, what it finds, what is held, why; of each line."""
    return [[*re.split(r"\s{2,}", line.strip(), maxsplit=3), ""][:4] for line in table.strip().splitlines()]


@pytest.mark.parametrize(("policy", "budget", "table"), TABLES, ids=NAMES)
@pytest.mark.parametrize("which", ["kernel", "reference"])
def test_ten_calls(policy: str, budget: float, table: str, which: str) -> None:
    lines = read(table)
    assert len(lines) == 10
    stream = written(" ".join(call for call, *_ in lines))
    outcome, log = log_policy(getattr(find_policy(policy), which), stream, int(budget * UNITS), False)
    found = [what for _, what, *_ in lines]
    assert [WORDS[what] for what in log.tolist()] == found
    assert outcome.misses == found.count("miss")
    assert outcome.missed_tokens == sum(int(size) for size, what in zip(stream.tokens, found, strict=True)
                                        if what == "miss")
    assert outcome.counters.get("promotions", 0) == found.count("copy")
    for sign, counter in (("-", "down_units"), ("+", "up_units")):
        moved = re.findall(rf"\(\{sign}([0-9.]+)\)", " ".join(why for *_, why in lines))
        assert outcome.counters.get(counter, 0) == sum(float(tokens) for tokens in moved) * UNITS


@pytest.mark.parametrize(("policy", "budget", "table"),
                         [each for each in TABLES if not find_policy(each[0]).clairvoyant])
@pytest.mark.parametrize("which", ["kernel", "reference"])
def test_what_is_held(policy: str, budget: float, table: str, which: str) -> None:
    """Asked for by one more call; not of a policy that would know of it before."""
    lines, run = read(table), getattr(find_policy(policy), which)
    calls = [call for call, *_ in lines]
    for place, (call, _, held, _) in enumerate(lines, start=1):
        at = call[call.index("@"):] if "@" in call else ""
        for name in sorted({call[0] for call in calls}):
            _, log = log_policy(run, written(" ".join([*calls[:place], f"{name}1{at}"])), int(budget * UNITS), False)
            state = "hit" if name in held else "copy" if name.lower() in held else "miss"
            assert WORDS[log[-1]] == state, (call, name)
