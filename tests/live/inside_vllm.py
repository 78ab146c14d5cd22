"""The plugin against vLLM's own classes, without a server. It runs inside the environment that has vLLM:

    .venv-live/bin/python -m unittest -v inside_vllm

`test_plugin_classes.py` does that. Keys are one letter each.
"""

from __future__ import annotations

import math
import unittest
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from vllm.v1.kv_offload.base import LookupResult, make_offload_key
from vllm.v1.kv_offload.factory import OffloadingSpecFactory

from kvcensus_gate import GateError, known_policies, make_tier
from kvcensus_gate.vllm import SPEC_NAME, register, seams, versions
from kvcensus_gate.vllm.cache_policy import ChunkTable
from kvcensus_gate.vllm.host_copy import HostCopyWorker
from kvcensus_gate.vllm.manager import GateManager
from kvcensus_gate.vllm.metrics import metric_definitions
from kvcensus_gate.vllm.seams import CPULoadStoreSpec, GPULoadStoreSpec, ReqContext
from kvcensus_gate.vllm.spec import GateSpec

SECOND = 1_000_000


def keys_of(letters: str) -> list[bytes]:
    return [make_offload_key(letter.encode() * 32, 0) for letter in letters]


def letters_of(keys: Sequence[bytes]) -> str:
    return "".join(chr(key[0]) for key in keys)


class Server:
    """A manager as the connector drives it; transfers end at once unless they are left open."""

    def __init__(self, policy: str, chunks: int, **parameters: object):
        self.now_us = 0
        self.tier = make_tier(policy, chunks, lambda: self.now_us, block_bytes=4096, parameters=parameters)
        self.manager = GateManager(self.tier, chunks, enable_events=True)
        self.requests = 0

    def begin(self, letters: str, hints: object = None) -> Any:
        self.requests += 1
        context = ReqContext(req_id=f"r{self.requests}", kv_transfer_params=hints)
        self.manager.on_new_request(context)
        keys = keys_of(letters)
        if hasattr(context, "set_offload_key_position"):
            for place, key in enumerate(keys):
                context.set_offload_key_position(key, 32 * (place + 1))
        else:
            self.manager.touch(keys, context)
        return context

    def found(self, letters: str, context: Any) -> str:
        prefix = []
        for key in keys_of(letters):
            if self.manager.lookup(key, context) is not LookupResult.HIT:
                break
            prefix.append(key)
        return letters_of(prefix)

    def turn(self, letters: str, session: str | None = None, gap_s: float | None = None, last: bool = False) -> str:
        """A whole turn; returns what was stored, and what was evicted for it after a slash."""
        hints = {"session_id": session, "last_turn": last}
        context = self.begin(letters, hints if gap_s is None else hints | {"expected_gap_ms": gap_s * 1000})
        found = self.found(letters, context)
        if found:
            self.manager.prepare_load(keys_of(found), context)
            self.manager.complete_load(set(keys_of(found)), context)
        output = self.manager.prepare_store(keys_of(letters[len(found):]), context)
        assert output is not None, "None is asked again at every step"
        self.manager.complete_store(set(output.keys_to_store), context)
        self.manager.on_request_finished(context)
        return letters_of(output.keys_to_store) + "/" + letters_of(output.evicted_keys)

    def held(self) -> str:
        return "".join(sorted(letters_of(list(self.manager._policy._chunks))))

    def agrees(self) -> bool:
        """vLLM's table and the tier hold the same chunks."""
        return set(self.manager._policy._chunks) == set(self.tier._blocks)


class Decisions(unittest.TestCase):
    def test_classes_go_as_finished_overdue_far_recent(self) -> None:
        """Without refusals, so that all are reached: D is finished, C overdue, B far, A recent."""
        server = Server("job_aware", 4, admission_control=False)
        server.turn("A", "a")
        server.turn("C", "c", gap_s=1)
        server.now_us = 7 * SECOND
        server.turn("A", "a")
        server.turn("B", "b", gap_s=60)
        server.turn("D", "d", last=True)
        gone = []
        for new in "WXYZ":
            output = server.manager.prepare_store(keys_of(new), server.begin(new, {"session_id": new}))
            gone.append(letters_of(output.evicted_keys))
        self.assertEqual(gone, ["D", "C", "B", "A"])
        self.assertTrue(server.agrees())

    def test_the_gate_refuses_what_live_sessions_leave_no_room_for(self) -> None:
        server = Server("gate", 4)
        server.turn("ABCD", "a", gap_s=60)
        self.assertEqual(server.turn("XY", "x"), "/")
        self.assertEqual(server.tier.counters.refused, {"admission": 2})
        server.turn("ABCD", "a", last=True)
        self.assertEqual(server.turn("XY", "x"), "XY/DC")
        self.assertEqual(server.held(), "ABXY")

    def test_a_refusal_is_an_empty_answer_and_asks_vllm_for_nothing(self) -> None:
        server = Server("gate", 2)
        server.turn("AB", "a", gap_s=60)
        context = server.begin("XY", {"session_id": "x"})
        for _ in range(3):
            output = server.manager.prepare_store(keys_of("XY"), context)
            self.assertEqual((output.keys_to_store, output.evicted_keys, list(output.store_spec.block_ids)),
                             ([], [], []))
        self.assertEqual(server.held(), "AB")

    def test_eviction_is_all_or_nothing(self) -> None:
        """Two of three are being loaded: two new chunks find no room, and the third stays."""
        server = Server("lru", 3)
        server.turn("ABC", "a")
        context = server.begin("AB", {"session_id": "b"})
        server.manager.prepare_load(keys_of("AB"), context)
        self.assertEqual(server.turn("XY", "x"), "/")
        self.assertEqual(server.tier.counters.refused, {"no_room": 2})
        self.assertEqual(server.held(), "ABC")
        server.manager.complete_load(set(keys_of("AB")), context)
        self.assertEqual(server.turn("XY", "x"), "XY/CB")
        self.assertTrue(server.agrees())

    def test_chunks_in_flight_stay(self) -> None:
        """A store under way is neither found nor evicted, also after its request has finished."""
        server = Server("lru", 2)
        context = server.begin("AB", {"session_id": "a"})
        output = server.manager.prepare_store(keys_of("AB"), context)
        server.manager.on_request_finished(context)
        other = server.begin("AB", {"session_id": "b"})
        self.assertEqual(server.manager.lookup(keys_of("A")[0], other), LookupResult.HIT_PENDING)
        self.assertEqual(server.turn("XY", "x"), "/")
        server.manager.complete_store(set(output.keys_to_store), context)
        self.assertEqual(server.found("AB", other), "AB")
        self.assertEqual(server.turn("XY", "x"), "XY/BA")

    def test_a_store_that_fails_leaves_nothing(self) -> None:
        server = Server("gate", 2)
        context = server.begin("AB")
        output = server.manager.prepare_store(keys_of("AB"), context)
        server.manager.complete_store(set(output.keys_to_store), context, success=False)
        self.assertEqual((server.held(), server.tier.counters.failed), ("", 2))
        self.assertEqual(server.turn("CD"), "CD/")

    def test_what_is_offered_is_protected(self) -> None:
        """A is there already and the oldest, but offered with X: B goes."""
        server = Server("lru", 2)
        server.turn("A", "a")
        server.turn("B", "b")
        context = server.begin("AX", {"session_id": "x"})
        output = server.manager.prepare_store(keys_of("AX"), context)
        self.assertEqual((letters_of(output.keys_to_store), letters_of(output.evicted_keys)), ("X", "B"))

    def test_a_shared_prefix_is_as_safe_as_its_safest_owner(self) -> None:
        server = Server("gate", 4)
        server.turn("PA", "a", gap_s=60)
        server.turn("PB", "b", gap_s=60)
        server.turn("PA", "a", last=True)
        self.assertEqual(server.turn("XY", "x"), "XY/A")
        self.assertEqual(server.held(), "BPXY")

    def test_a_context_that_shrank_leaves_orphans(self) -> None:
        """After the compaction B and C are in no context: they go before the finished D."""
        server = Server("gate", 5)
        server.turn("ABC", "a", gap_s=60)
        server.turn("D", "d", last=True)
        server.turn("AE", "a", gap_s=60)
        self.assertEqual(server.turn("XYZ", "x"), "XYZ/CBD")

    def test_the_order_of_a_set_changes_nothing(self) -> None:
        """Keys of a transfer come back in any order."""
        for order in ("ABCD", "DCBA", "BDAC"):
            server = Server("lru", 4)
            context = server.begin("ABCD")
            server.manager.prepare_store(keys_of("ABCD"), context)
            server.manager.complete_store(keys_of(order), context)
            server.manager.on_request_finished(context)
            self.assertEqual(server.turn("XY"), "XY/DC")

    def test_a_reset_empties_both(self) -> None:
        server = Server("gate", 4)
        server.turn("ABCD", "a", gap_s=60)
        server.manager.reset_cache()
        self.assertEqual((server.held(), len(server.tier)), ("", 0))
        self.assertEqual(server.turn("WXYZ", "x"), "WXYZ/")

    def test_every_policy_agrees_with_vllm(self) -> None:
        for policy in known_policies():
            with self.subTest(policy):
                server = Server(policy, 7)
                for number in range(200):
                    session = number * 7 % 11
                    letters = "".join(chr(65 + session * 5 + place) for place in range(1 + number % 5))
                    server.turn(letters, f"s{session}", gap_s=number % 3, last=number % 13 == 0)
                    server.now_us += SECOND
                    self.assertTrue(server.agrees())
                self.assertLessEqual(len(server.held()), 7)

    def test_a_thousand_sessions_leave_no_record(self) -> None:
        for policy in known_policies():
            with self.subTest(policy):
                server = Server(policy, 8)
                for number in range(1000):
                    letters = chr(65 + number % 26) + chr(97 + number % 26)
                    server.turn(letters, f"s{number}", gap_s=1, last=True)
                    server.now_us += 10 * SECOND
                server.manager.reset_cache()
                self.assertEqual((len(server.tier.sessions), server.tier.running), (0, 0))

    def test_hints_never_raise(self) -> None:
        """And whoever names another one's session cannot do more than that session could."""
        hostile: list[Any] = [7, "text", [], {"session_id": ["a"]}, {"session_id": "x" * 10_000}, {"session_id": 1e309},
                              {"expected_gap_ms": math.nan}, {"expected_gap_ms": 10**400}, {"last_turn": "yes"},
                              {"turn_idx": -1, "job_id": {}}, {"session_id": "a", "last_turn": True}]
        server = Server("gate", 3)
        server.turn("AB", "a", gap_s=60)
        for hints in hostile:
            context = server.begin("ABC", hints)
            output = server.manager.prepare_store(keys_of("ABC"), context)
            server.manager.complete_store(set(output.keys_to_store), context)
            server.manager.on_request_finished(context)
            self.assertTrue(server.agrees())
        self.assertEqual(server.tier.counters.malformed_hints, 11)

    def test_events_tell_of_stores_and_evictions(self) -> None:
        server = Server("lru", 1)
        server.turn("A")
        server.turn("B")
        events = [(letters_of(event.keys), event.removed) for event in server.manager.take_events()]
        self.assertEqual(events, [("A", False), ("A", True), ("B", False)])

    def test_a_disagreement_is_not_hidden(self) -> None:
        table = ChunkTable(2)
        table.insert(b"a", SimpleNamespace(ref_cnt=0))
        table.doom([b"a"])
        with self.assertRaisesRegex(RuntimeError, "1 chunks are to be evicted, vLLM asks for 2"):
            table.evict(2, set())


class Metrics(unittest.TestCase):
    def test_differences_are_reported(self) -> None:
        server = Server("gate", 2)
        server.turn("AB", "a", gap_s=60)
        server.turn("X", "x")
        first = server.manager.get_stats().data["data"]
        server.turn("AB", "a", gap_s=60)
        second = server.manager.get_stats().data["data"]
        blocks = "vllm:kvcensus_tier_blocks"
        self.assertEqual(first[blocks], {("offered",): 3, ("present",): 0, ("stored",): 2, ("failed",): 0,
                                         ("reloaded",): 0, ("cleared",): 0})
        self.assertEqual(first["vllm:kvcensus_tier_refused_blocks"], {("admission",): 1, ("no_room",): 0})
        self.assertEqual(second[blocks], {("reloaded",): 2})
        self.assertEqual(second["vllm:kvcensus_tier_resident_blocks"], {(): 2})

    def test_what_is_reported_is_defined(self) -> None:
        server = Server("gate", 1)
        server.turn("A", "a", last=True)
        server.turn("B", "b", gap_s=60)
        server.turn("C", "c")
        server.begin("D", {"session_id": 7})
        stats = server.manager.get_stats().data["data"]
        ours = {name for name in stats if "kvcensus" in name}
        self.assertEqual(ours - set(metric_definitions()), set())
        for name in ours:
            for labels in stats[name]:
                self.assertEqual(len(labels), len(metric_definitions()[name].labelnames))


class Copies(unittest.TestCase):
    """Pages of 4 bytes; block b of tensor t holds 10 * t + b."""

    def setUp(self) -> None:
        self.tensors = [torch.stack([torch.full((4,), 10 * t + b, dtype=torch.int8) for b in range(8)])
                        for t in range(3)]
        caches = SimpleNamespace(
            tensors=[SimpleNamespace(tensor=tensor, page_size_bytes=4) for tensor in self.tensors],
            group_data_refs=[[SimpleNamespace(tensor_idx=t, page_size_bytes=4) for t in group]
                             for group in ([0, 1], [2])])
        self.worker = HostCopyWorker(caches, chunks=4, blocks_per_chunk=2)

    def values(self, tensor: int, blocks: Sequence[int]) -> list[int]:
        return [int(self.tensors[tensor][block][0]) for block in blocks]

    def test_there_and_back(self) -> None:
        """Two groups; the load of the first begins inside a chunk."""
        store = GPULoadStoreSpec([4, 5, 6, 7, 1, 2], group_sizes=[4, 2], block_indices=[0, 0])
        self.assertTrue(self.worker.submit_store(1, store, CPULoadStoreSpec([3, 0, 2])))
        for tensor in self.tensors:
            tensor.zero_()
        load = GPULoadStoreSpec([0, 1, 2, 3, 4], group_sizes=[3, 2], block_indices=[1, 0])
        self.assertTrue(self.worker.submit_load(2, CPULoadStoreSpec([3, 0, 2]), load))
        self.assertEqual(self.values(0, range(4)), [5, 6, 7, 0])
        self.assertEqual(self.values(1, range(4)), [15, 16, 17, 0])
        self.assertEqual(self.values(2, range(5)), [0, 0, 0, 21, 22])
        done = self.worker.get_finished()
        self.assertEqual([(each.job_id, each.success, each.transfer_size) for each in done],
                         [(1, True, (4 * 2 + 2) * 4), (2, True, (3 * 2 + 2) * 4)])
        self.assertEqual(self.worker.get_finished(), [])

    def test_a_transfer_that_does_not_fit_is_an_error(self) -> None:
        spec = GPULoadStoreSpec([1, 2], group_sizes=[2, 0], block_indices=[0, 0])
        with self.assertRaisesRegex(RuntimeError, "0 blocks and 1 chunks too many"):
            self.worker.submit_store(1, spec, CPULoadStoreSpec([0, 1]))


class Entrance(unittest.TestCase):
    def test_registering_twice_is_once(self) -> None:
        register()
        register()
        self.assertIs(OffloadingSpecFactory.get_spec_cls({"spec_name": SPEC_NAME}), GateSpec)

    def test_this_version_was_run(self) -> None:
        versions.check_version(seams.vllm_version(), allow_untested=False)

    def test_settings_and_version_come_before_all_else(self) -> None:
        with self.assertRaisesRegex(GateError, "unknown tier policy 'nonsense'"):
            GateSpec(SimpleNamespace(extra_config={"kvcensus_gate": {"policy": "nonsense"}}))
        with (mock.patch("kvcensus_gate.vllm.spec.vllm_version", return_value="9.9.1"),
              self.assertRaisesRegex(GateError, r"never run with vLLM 9\.9\.1, only with")):
            GateSpec(SimpleNamespace(extra_config={"kvcensus_gate": {"policy": "gate"}}))

    def test_metrics_are_vllms_and_ours(self) -> None:
        names = set(GateSpec.build_metric_definitions({}))
        self.assertLess(set(metric_definitions()), names)


if __name__ == "__main__":
    unittest.main()
