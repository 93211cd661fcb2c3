"""Weights that go from torch to the embedded engine arrive there as they were."""

import asyncio
import json
from math import nan
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
import torch
import xllamacpp
from gguf import GGUFReader, GGUFWriter

from motet.errors import BadInput
from motet.models.embedded.model import Local
from motet.models.trainable.adapters import Lora
from motet.models.trainable.checkpoint import merged
from motet.train import Adam, Loss, Row, torch_engine
from motet.train.network import Network
from motet.train.to_gguf import adapter_gguf, model_gguf, rollout_weights
from motet.types import Message, Sampling

torch.set_num_threads(2)
TINY = "tiny:hidden=32,layers=2,heads=2,context=128"


def trained(name: str, row: Row, lora: Lora | None) -> Network:
    engine = torch_engine(name, {"p": lora})
    engine.forward_backward("p", [row], Loss("sft"))
    engine.optim_step("p", Adam(lr=1e-3))
    body = engine._body
    assert isinstance(body, Network)
    return body


BYTES = Row(ids=(1, 2, 3, 4), mask=(False, True, True, True))


def read(file: Path) -> dict[str, np.ndarray]:
    return {tensor.name: tensor.data for tensor in GGUFReader(file).tensors}


def turned_back(rows: np.ndarray, heads: int) -> np.ndarray:
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def test_an_adapter_has_llama_cpps_names_and_order_of_rows(tmp_path: Path) -> None:
    policy = trained(TINY, BYTES, Lora(r=2, alpha=3.0)).policy("p")
    file = adapter_gguf(policy, tmp_path / "p.gguf")
    found, parameters = read(file), policy.parameters()
    assert GGUFReader(file).fields["adapter.lora.alpha"].contents() == 3.0
    assert len(found) == len(parameters) == 2 * 7 * 2
    q, down = (
        parameters[f"model.layers.1.{n}.lora_B.weight"].detach().numpy()
        for n in ("self_attn.q_proj", "mlp.down_proj")
    )
    assert np.array_equal(turned_back(found["blk.1.attn_q.weight.lora_b"], 2), q)
    assert not np.array_equal(found["blk.1.attn_q.weight.lora_b"], q)
    assert np.array_equal(found["blk.1.ffn_down.weight.lora_b"], down)
    assert [f.name for f in tmp_path.iterdir()] == ["p.gguf"]


def test_a_merged_model_takes_its_vocabulary_from_its_like(tmp_path: Path) -> None:
    like = tmp_path / "like.gguf"
    writer = GGUFWriter(like, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    policy = trained(TINY, BYTES, Lora(r=2)).policy("p")
    file = model_gguf(policy, tmp_path / "p.gguf", like)
    assert GGUFReader(file).fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    state = merged(policy.module, policy.adapter)
    key = turned_back(read(file)["blk.0.attn_k.weight"].astype(np.float32), 2)
    assert np.abs(key - state["model.layers.0.self_attn.k_proj.weight"].detach().numpy()).max() < 1e-4
    assert read(file)["blk.0.attn_norm.weight"].dtype == np.float32
    assert "output.weight" not in read(file)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    whole = trained(TINY, BYTES, None).policy("p")
    with pytest.raises(BadInput, match="has weights of its own"):
        adapter_gguf(whole, tmp_path / "p.gguf")
    config = tmp_path / "small.json"
    config.write_text(json.dumps({"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2}))
    other = trained(str(config), BYTES, Lora(r=2, targets=("c_proj",))).policy("p")
    with pytest.raises(BadInput, match="no GGUF for models of type 'gpt2'"):
        adapter_gguf(other, tmp_path / "p.gguf")
    assert [f.name for f in tmp_path.iterdir()] == ["small.json"]


def gap(row: Row, body: Network) -> float:
    from motet.train.gradient import GradientEngine

    (scored,) = GradientEngine(body).logprobs("p", [row])
    found = [abs(a - b) for a, b, on in zip(row.logprobs, scored, row.mask, strict=True) if on]
    return sum(found) / len(found)


def sampled(prompt: tuple[int, ...], ids: tuple[int, ...], logprobs: tuple[float, ...]) -> Row:
    off, on = len(prompt), len(ids)
    return Row(ids=prompt + ids, mask=(False,) * off + (True,) * on, logprobs=(nan,) * off + logprobs)


@pytest.mark.slow
def test_merged_weights_and_adapters_agree_with_torch_in_the_embedded_engine(tmp_path: Path) -> None:
    ids = (1, 4093, 198, 19556, 2)
    body = trained("smollm2-135m", Row(ids=ids, mask=(False, *[True] * 4)), Lora())
    policy = body.policy("p")
    file = model_gguf(policy, tmp_path / "p.gguf", rollout_weights())
    ask = [Message.say("user", "Tell me of a fox.")]
    (reply,) = asyncio.run(
        Local(f"local:{file}", n_ctx=256, slots=1).sample(ask, 1, Sampling(max_tokens=24, seed=1))
    )
    assert reply.tokens is not None
    row = sampled(reply.tokens.prompt_ids, reply.tokens.ids, reply.tokens.logprobs)
    assert gap(row, body) < 0.02

    wanted, adapter = xllamacpp.CommonParams(), xllamacpp.CommonAdapterLoraInfo()
    adapter.path, adapter.scale = str(adapter_gguf(policy, tmp_path / "adapter.gguf")), 1.0
    wanted.model.path, wanted.n_ctx, wanted.verbosity = str(rollout_weights()), 256, -1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 2
    wanted.n_parallel, wanted.lora_adapters = 1, [adapter]
    body_of = {"prompt": list(reply.tokens.prompt_ids), "n_predict": 16, "n_probs": 1, "samplers": []}
    server = xllamacpp.Server(wanted)
    request = Request(f"{server.listening_address}/completion", json.dumps(body_of).encode())
    with urlopen(request) as answer:
        told = json.load(answer)["completion_probabilities"]
    del server
    row = sampled(reply.tokens.prompt_ids, tuple(t["id"] for t in told), tuple(t["logprob"] for t in told))
    assert gap(row, body) < 0.02
