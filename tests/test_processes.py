"""Two processes of a launcher find what one finds: with weights whole in each, and split by FSDP."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import together

SCRIPT = Path(together.__file__)
LAUNCHERS = {
    "whole": ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"],
    "sharded": [
        *("-m", "accelerate.commands.launch", "--num_processes", "2", "--num_machines", "1"),
        *("--mixed_precision", "no", "--dynamo_backend", "no", "--use_fsdp", "--fsdp_version", "2"),
    ],
}


def near(one: Any, other: Any) -> None:
    match one:
        case dict():
            assert one.keys() == other.keys()
            for key in one:
                near(one[key], other[key])
        case list() | tuple():
            assert len(one) == len(other)
            for a, b in zip(one, other, strict=True):
                near(a, b)
        case float():
            assert one == pytest.approx(other, abs=1e-5)
        case _:
            assert one == other


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("alone")
    return folder, together.found(folder, folder / "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("weights", LAUNCHERS)
def test_two_processes_find_what_one_finds(
    weights: str, alone: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, expected = alone
    command = [sys.executable, *LAUNCHERS[weights], str(SCRIPT), str(tmp_path), str(folder)]
    settings = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "found.json").read_text())
    loaded = told.pop("loaded")
    near(told, {k: v for k, v in expected.items() if k != "loaded"})
    near(loaded, together.continued(folder))
    near(loaded, together.continued(tmp_path))
