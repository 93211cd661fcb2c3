"""The Tinker engine against a real server of that API: SkyRL's JAX server, on this machine's processor.

    python -m scripts.skyrl [--folder FOLDER]

Makes an environment for the server in FOLDER (2 GB, some minutes, once), starts it on loopback with a model
of two layers, and puts `check_engine` and a short training run to it. The server does not understand the
latest SDK: the one that it does is put beside the environment and imported before any other.
"""

import argparse
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SERVER = (
    "skyrl-tx==0.3.0",
    "jax<1",
    "flax",
    "optax",
    "fastapi[standard]",
    "sqlmodel",
    "aiosqlite",
    "greenlet",
    "torch==2.13.0",
)
SDK = "tinker==0.16.1"
PORT = 8123
FOLDER = Path("benchmarks/.venv/skyrl")

MODEL = """
import sys, torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
place = sys.argv[1]
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
words = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate([*letters, "<end>", "<pad>"])}, merges=[]))
words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", pad_token="<pad>").save_pretrained(place)
torch.manual_seed(0)
LlamaForCausalLM(LlamaConfig(
    vocab_size=258, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=256, tie_word_embeddings=True, bos_token_id=None,
    eos_token_id=256, pad_token_id=257, initializer_range=0.2,
)).save_pretrained(place)
"""

UV = """#!/bin/sh
# The server starts its worker by `uv run … -m MODULE`; here that is this environment's Python.
while [ "$1" != "-m" ]; do shift; done
exec {python} "$@"
"""

CHECK = """
import sys, tempfile, time
from pathlib import Path
from types import SimpleNamespace
from motet import Agent, Sampling, Task, team
from motet.train import Adam, Loss, check_engine, train
from motet.train.tinker import tinker_engine

url, model = sys.argv[1:]
def engine():
    return tinker_engine(model, ("one", "two"), url=url, api_key="tml-none", gradient="mean")
began = time.perf_counter()
check_engine(engine, Path(tempfile.mkdtemp()))
print(f"check_engine holds ({time.perf_counter() - began:.0f} s)", flush=True)

class Small:
    # Pays for the share of small letters.
    name, tasks = "small letters", (Task("Say something."),)
    @property
    def scorer(self):
        return self
    async def __call__(self, task, answer):
        return SimpleNamespace(value=sum(c.islower() for c in answer) / max(1, len(answer)))

@team
async def say(task, voice):
    return await voice.ask(task)

began = time.perf_counter()
short = say.cast(voice=Agent("sim:skill=1", sampling=Sampling(max_tokens=4, temperature=1)))
curve = train(short, Small(), engine=engine(), policies={"voice": "one"}, iterations=12, groups=1,
              group_size=16, adam=Adam(lr=0.02), credit="grpo").curve[1:]
rewards = [line["reward/voice"] for line in curve]
print("small letters, iteration by iteration:", *(f"{reward:.2f}" for reward in rewards))
print(f"trained by motet.train.train ({time.perf_counter() - began:.0f} s)")
assert sum(rewards[-3:]) > sum(rewards[:3]), "it did not learn"
"""


def main() -> int:
    """Set up, start, check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--folder", type=Path, default=Path("benchmarks/.venv/skyrl"), help="where all of it is kept"
    )
    folder = parser.parse_args().folder.resolve()
    python = folder / "venv" / "bin" / "python"
    if not (folder / "ready").exists():
        set_up(folder, python)
    url, log = f"http://127.0.0.1:{PORT}", (folder / "server.log").open("w")
    (folder / "server.db").unlink(missing_ok=True)
    server = subprocess.Popen(command(folder, python), stdout=log, stderr=log, env=environment(folder))
    try:
        wait_for(url, server, folder / "server.log")
        sdk = os.environ | {"PYTHONPATH": f"{folder / 'sdk'}{os.pathsep}{Path.cwd()}"}
        return subprocess.run([sys.executable, "-c", CHECK, url, str(folder / "model")], env=sdk).returncode
    finally:
        server.terminate()
        server.wait()


def set_up(folder: Path, python: Path) -> None:
    """Environment, SDK, model, and what stands in for `uv`."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *SERVER], check=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder / "sdk", SDK]
    subprocess.run(pip, check=True)
    subprocess.run([python, "-c", MODEL, folder / "model"], check=True)
    uv = folder / "bin" / "uv"
    uv.parent.mkdir(exist_ok=True)
    uv.write_text(UV.format(python=python))
    uv.chmod(0o755)
    (folder / "ready").touch()


def command(folder: Path, python: Path) -> list[str]:
    """The server on loopback."""
    options = {
        "base-model": folder / "model",
        "database-url": f"sqlite:///{folder / 'server.db'}",
        "checkpoints-base": folder / "checkpoints",
        "host": "127.0.0.1",
        "port": PORT,
        "backend-config": '{"max_lora_adapters": 16, "max_lora_rank": 8}',
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [str(python), "-m", "tx.tinker.api", *words]


def environment(folder: Path) -> dict[str, str]:
    """The processor alone, and our `uv` before any other."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    """Until the server answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/api/v1/healthz", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise SystemExit(f"the server did not start; its log is {log}")


if __name__ == "__main__":
    raise SystemExit(main())
