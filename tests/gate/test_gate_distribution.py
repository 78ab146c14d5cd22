"""The distribution: it lives in somebody else's environment."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from kvcensus_gate import known_policies

ROOT = Path(__file__).resolve().parents[2] / "replay" / "gate"
POLICIES = ("none", "lru", "arc", "marconi", "continuum_ttl", "continuum_ttl_admission", "mori", "job_aware", "gate",
            "gate_tags_off", "lru_reclaim")
#: These extend classes of vLLM; no other module of the distribution imports them.
IN_VLLM = tuple(f"kvcensus_gate.vllm.{name}"
                for name in ("cache_policy", "host_copy", "manager", "metrics", "seams", "spec"))
ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import importlib, pkgutil, kvcensus_gate
for module in pkgutil.walk_packages(kvcensus_gate.__path__, "kvcensus_gate."):
    if module.name not in sys.argv[2:]:
        importlib.import_module(module.name)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))
tier = kvcensus_gate.make_tier("gate", 2, lambda: 0)
tier.complete_store(tier.prepare_store("r", ["A"]).store)
print(len(tier))
"""


def test_it_needs_the_standard_library_alone():
    done = subprocess.run([sys.executable, "-I", "-S", "-c", ALONE, str(ROOT), *IN_VLLM], check=True, text=True,
                          capture_output=True, timeout=60)
    assert done.stdout.split() == ["kvcensus_gate", "1"]


def test_a_policy_is_a_file():
    files = {path.stem for path in (ROOT / "kvcensus_gate" / "policies").glob("*.py")} - {"__init__"}
    assert files == set(known_policies()) == set(POLICIES)


def test_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dependencies"] == []
    files = (ROOT / "kvcensus_gate").rglob("__init__.py")
    packages = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in files}
    assert set(project["tool"]["setuptools"]["packages"]) == packages
