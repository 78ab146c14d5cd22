"""Prompts: what two of them share is what was asked for, to the token."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.live.prompts import EMPTY, Prompt, PromptTree, common_prefix
from telemetry.errors import UsageError

WORDS = range(4, 512)


def shared(one: list[int], other: list[int]) -> int:
    """Equal leading tokens, counted."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


#: For every session the lengths of its prompts and, as a share, what each has in common with the one before.
SESSIONS = st.lists(st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), min_size=1, max_size=6), min_size=1,
                    max_size=5)


def grown(tree: PromptTree, sessions: list[list[tuple[int, float]]]) -> tuple[list[list[Prompt]], list[list[int]]]:
    """The prompts of every session, and what each was asked to share."""
    prompts, asked = [], []
    for index, turns in enumerate(sessions):
        own, kept, before = [], [], EMPTY
        for turn, (length, share) in enumerate(turns):
            keep = round(share * min(len(before), length))
            before = tree.branch(before, keep, length, f"{index} {turn}")
            own.append(before)
            kept.append(keep)
        prompts.append(own)
        asked.append(kept)
    return prompts, asked


@settings(deadline=None)
@given(SESSIONS, st.integers(0, 3), st.sampled_from([range(4, 512), range(2, 12)]))
def test_consecutive_prompts_share_what_was_asked_and_sessions_nothing(sessions: list[list[tuple[int, float]]],
                                                                       seed: int, words: range) -> None:
    tree = PromptTree(seed, words)
    try:
        prompts, asked = grown(tree, sessions)
    except UsageError:  # more than eleven leave at one place: only where words are few
        assert len(words) < sum(map(len, sessions)) + 1
        return
    told = [[tree.tokens(prompt) for prompt in own] for own in prompts]
    for own, kept, turns in zip(told, asked, sessions, strict=True):
        assert [len(tokens) for tokens in own] == [length for length, _ in turns]
        assert [shared(one, other) for one, other in pairwise(own)] == kept[1:]
        assert all(token in words for tokens in own for token in tokens)
    for i, mine in enumerate(told):
        for theirs in told[i + 1:]:
            assert all(shared(one, other) == 0 for one in mine for other in theirs)
    for mine, paths in zip(told, prompts, strict=True):
        for one, path in zip(mine, paths, strict=True):
            for other, other_path in zip(mine, paths, strict=True):
                assert common_prefix(path, other_path) == shared(one, other)


@settings(deadline=None, max_examples=30)
@given(SESSIONS)
def test_the_same_seed_gives_the_same_tokens_and_another_others(sessions: list[list[tuple[int, float]]]) -> None:
    def told(seed: int) -> list[list[int]]:
        tree = PromptTree(seed, WORDS)
        return [tree.tokens(prompt) for own in grown(tree, sessions)[0] for prompt in own]

    assert told(1) == told(1)
    long = [tokens for tokens in told(1) if len(tokens) > 20]
    others = [tokens for tokens in told(2) if len(tokens) > 20]
    assert all(one != other for one, other in zip(long, others, strict=True))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 3), max_size=5), min_size=2, max_size=6), st.integers(1, 5))
def test_named_blocks_are_shared_by_whoever_has_them(chains: list[list[int]], size: int) -> None:
    tree = PromptTree(1, WORDS)
    prompts = []
    for chain in chains:
        names = [hash(tuple(chain[:i + 1])) for i in range(len(chain))]  # a key names all up to its block
        prompts.append(tree.blocks([(name, (i + 1) * size) for i, name in enumerate(names)]))
    for chain, prompt in zip(chains, prompts, strict=True):
        assert len(tree.tokens(prompt)) == len(chain) * size
        for other_chain, other in zip(chains, prompts, strict=True):
            blocks = shared(chain, other_chain)
            assert shared(tree.tokens(prompt), tree.tokens(other)) == blocks * size
            assert common_prefix(prompt, other) == blocks * size


def test_a_prompt_that_leaves_named_blocks_and_one_that_stays() -> None:
    tree = PromptTree(1, WORDS)
    base = tree.blocks([(11, 4), (12, 8)])
    tail = tree.branch(base, 8, 10, "tail")
    again = tree.branch(tree.blocks([(11, 4), (12, 8), (13, 12)]), 12, 13, "again")
    inside = tree.branch(tail, 6, 9, "inside")
    first, second, third = (tree.tokens(prompt) for prompt in (tail, again, inside))
    assert (len(first), len(second), len(third)) == (10, 13, 9)
    assert shared(first, second) == 8
    assert shared(first, third) == shared(second, third) == 6
    assert tree.branch(tail, 5, 5, "shorter") == Prompt(tail.runs[:2], (4, 5))
    assert tree.tokens(tree.branch(tail, 5, 5, "shorter")) == first[:5]


def test_more_prompts_than_words_is_an_error() -> None:
    tree = PromptTree(1, range(3))
    firsts = [tree.tokens(tree.branch(EMPTY, 0, 5, str(i)))[0] for i in range(3)]
    assert sorted(firsts) == [0, 1, 2]
    with pytest.raises(UsageError, match="4 prompts part after the same token, and the vocabulary has 3"):
        tree.branch(EMPTY, 0, 5, "3")
