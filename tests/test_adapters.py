"""The life of a tuned adapter: saved, loaded, merged, exported, and run again by a plain name."""

import asyncio
from pathlib import Path
from statistics import fmean

import pytest
import torch
from small_models import SHAPE

import motet
from motet.errors import BadInput, BadRequest
from motet.models.embedded.adapter import BASE_NAME, OF_BASE, header, parted, resolve_adapter
from motet.models.embedded.model import Local
from motet.models.trainable.adapters import Lora
from motet.models.trainable.checkpoint import save_module
from motet.models.trainable.model import Torch
from motet.models.weights import Weights
from motet.train import REFERENCE, Adam, Row, torch_engine
from motet.train.gradient import GradientEngine
from motet.train.network import Network
from motet.train.to_gguf import adapter_gguf, model_gguf, rollout_weights
from motet.train.tune import Lesson, tune
from motet.types import Message, Reply, Sampling, Tokens

torch.set_num_threads(1)
ROW = Row(ids=(1, 72, 105, 33), mask=(False, True, True, True), policy="p")
ASK = [Message.say("user", "Say something of a fox.")]
GREEDY = Sampling(temperature=0, max_tokens=12, seed=0)


def learned(
    base: str, row: Row = ROW, lora: Lora | None = Lora(r=2), lr: float = 3e-2
) -> tuple[GradientEngine, Network]:
    engine = torch_engine(base, {"p": lora})
    tune(engine, [row] * 4, Lesson(batch=2, adam=Adam(lr=lr)))
    assert isinstance(engine._body, Network)
    return engine, engine._body


def said(model: str | Torch | Local) -> Reply:
    found = motet.model(model) if isinstance(model, str) else model
    return asyncio.run(found.sample(ASK, 1, GREEDY))[0]


def test_a_saved_policy_and_a_merged_one_speak_as_the_policy_did(tmp_path: Path) -> None:
    engine, body = learned(SHAPE)
    engine.save("p", file := tmp_path / "p.safetensors")
    save_module(body.policy("p"), tmp_path / "merged")
    wanted = said(Torch(body.policy("p"), keep_empty=True)).tokens
    plain = said(Torch(SHAPE, keep_empty=True)).tokens
    assert wanted and plain and wanted.ids != plain.ids
    for name in (file, tmp_path / "merged"):
        found = said(Torch(str(name), keep_empty=True)).tokens
        assert found and found.ids == wanted.ids
        assert found.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)
    engine.load("p", file)
    assert motet.model(f"torch:{file}").name == f"torch:{file}"


def test_a_checkpoint_that_was_written_over_is_another_model(tmp_path: Path) -> None:
    engine, _ = learned(SHAPE)
    engine.save("p", file := tmp_path / "p.safetensors")
    before = motet.model(f"torch:{file}")
    assert motet.model(f"torch:{file}") is before
    first = before.identity
    tune(engine, [ROW], Lesson(batch=1, adam=Adam(lr=3e-2)))
    engine.save("p", file)
    assert motet.model(f"torch:{file}").identity != first


def test_a_policy_of_another_base_is_refused_by_name(tmp_path: Path) -> None:
    engine, _ = learned(SHAPE)
    engine.save("p", file := tmp_path / "p.safetensors")
    other = torch_engine(f"{SHAPE},seed=1", {"p": Lora(r=2)})
    with pytest.raises(BadInput, match=f"belongs to the base '{SHAPE}'.*own base"):
        other.load("p", file)


@pytest.mark.parametrize(
    ("name", "base", "adapter"),
    [
        ("local", "local", ""),
        ("local:smollm2-135m+a.gguf", "local:smollm2-135m", "a.gguf"),
        ("local:x/b.gguf+y/a.gguf", "local:x/b.gguf", "y/a.gguf"),
        ("local:hf:o/n/b.gguf+a.gguf", "local:hf:o/n/b.gguf", "a.gguf"),
        ("local:c++.gguf", "local:c++.gguf", ""),
        ("local:b.gguf+a.txt", "local:b.gguf+a.txt", ""),
    ],
)
def test_an_adapter_is_named_behind_a_plus(name: str, base: str, adapter: str) -> None:
    assert parted(name) == (base, adapter)


def files(tmp_path: Path, seed: int) -> tuple[Path, Path, Path]:
    """An adapter, the base it was tuned on, and the two merged."""
    from gguf import GGUFWriter

    like = tmp_path / "like.gguf"
    writer = GGUFWriter(like, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    _, body = learned(f"{SHAPE},seed={seed}")
    made = tmp_path / str(seed)
    return (
        adapter_gguf(body.policy("p"), made / "adapter.gguf"),
        model_gguf(body.policy("reference"), made / "base.gguf", like),
        model_gguf(body.policy("p"), made / "merged.gguf", like),
    )


def test_an_adapter_goes_on_its_own_base_alone(tmp_path: Path) -> None:
    adapter, base, merged = files(tmp_path, 0)
    _, other, _ = files(tmp_path, 1)
    assert header(adapter)[BASE_NAME] == f"{SHAPE},seed=0"
    assert header(adapter)[OF_BASE] == header(base)[OF_BASE]

    def on(path: Path, file: Path | str = adapter) -> str:
        return resolve_adapter(f"local:{path}", str(file), Weights(path, "", "")).sha256

    assert len(on(base)) == 64
    for wrong in (other, merged):
        with pytest.raises(BadInput, match=r"was tuned on 'tiny:.*seed=0'.*with its own base"):
            on(wrong)
    with pytest.raises(BadInput, match="there is no adapter"):
        on(base, "none.gguf")
    with pytest.raises(BadInput, match="is no adapter"):
        on(base, merged)
    (tmp_path / "x.gguf").write_text("no")
    with pytest.raises(BadInput, match="is no GGUF file"):
        on(base, tmp_path / "x.gguf")


def test_an_adapter_without_its_base_is_told_how_it_is_named(tmp_path: Path) -> None:
    adapter, _, merged = files(tmp_path, 0)
    told = r"is an adapter \(for a base of architecture 'llama', tiny:.*\).*: local:BASE\+.*adapter.gguf"
    with pytest.raises(BadInput, match=told):
        asyncio.run(Local(f"local:{adapter}").sample([Message.say("user", "Hello.")], 1, Sampling()))
    with pytest.raises(BadInput, match=told):
        _ = Local(f"local:{adapter}+{adapter}").identity
    assert Local(f"local:{merged}").identity.startswith(f"local:{merged}@")
    (tmp_path / "x.gguf").write_text("no")
    with pytest.raises(BadInput, match="is no GGUF file"):
        _ = Local(f"local:{tmp_path / 'x.gguf'}").identity


def test_an_adapter_of_other_weights_is_refused_before_the_engine_starts(tmp_path: Path) -> None:
    adapter, _, _ = files(tmp_path, 0)
    with pytest.raises(BadInput, match="local:smollm2-135m is other weights"):
        resolve_adapter("local:smollm2-135m", str(adapter), Weights(adapter, "", ""))


@pytest.mark.slow
def test_the_embedded_engine_runs_what_was_tuned_by_its_name(tmp_path: Path) -> None:
    plain = rollout_weights()
    ids = (1, 4093, 198, 19556, 2)
    engine, body = learned("smollm2-135m", Row(ids=ids, mask=(False, *[True] * 4), policy="p"), Lora(), 1e-3)
    engine.save("p", tmp_path / "p.safetensors")
    adapter = adapter_gguf(body.policy("p"), tmp_path / "a.gguf")
    merged = model_gguf(body.policy("p"), tmp_path / "m.gguf", plain)
    again = torch_engine("smollm2-135m", {"p": Lora()})
    again.load("p", tmp_path / "p.safetensors")
    small = {"n_ctx": 256, "slots": 1}
    for name, near in ((f"local:{merged}", 0.01), (f"local:{plain}+{adapter}", 0.01), ("local", 0.2)):
        name = name if name != "local" else f"local:smollm2-135m+{adapter}"
        model = Local(name, **small)
        tokens = said(model).tokens
        assert tokens
        asked, answered = len(tokens.prompt_ids), len(tokens.ids)
        row = Row(
            ids=(*tokens.prompt_ids, *tokens.ids), mask=(False,) * asked + (True,) * answered, policy="p"
        )

        def far(policy: str, row: Row = row, tokens: Tokens = tokens) -> float:
            """How far the trainer's log-probabilities are from the sampler's, on average."""
            scored = again.logprobs(policy, [row])[0][-len(tokens.ids) :]
            return fmean(abs(a - b) for a, b in zip(scored, tokens.logprobs, strict=True))

        assert far("p") < near
        assert far("p") < far(REFERENCE), "it is the tuned policy that speaks"
        assert ("+" in model.identity.rpartition("@")[2]) == ("+" in name)
    small_one, _, _ = files(tmp_path, 0)
    with pytest.raises((BadInput, BadRequest), match=r"other weights|of the shape that the adapter"):
        said(Local(f"local:{plain}+{small_one}", **small))
