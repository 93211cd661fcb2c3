"""Small language models over bytes that have learned to say one thing or another, whatever they are asked."""

from collections.abc import Sequence
from pathlib import Path

import torch

from motet.models.trainable.checkpoint import save_module
from motet.models.trainable.weights import load_base
from motet.train import Adam, Row, torch_engine
from motet.train.network import Network
from motet.train.tune import Lesson, tune

SHAPE = "tiny:hidden=32,layers=2,heads=2"


def talker(folder: Path, prompts: Sequence[str], says: Sequence[str]) -> str:
    """The name, after `torch:`, of a model that answers such prompts with each of `says` about as often.

    Its embeddings are larger than random ones: they bound its logits, and an adapter leaves them alone.
    """
    base = load_base(SHAPE)
    with torch.no_grad():
        base.module.get_input_embeddings().weight.mul_(8)
    engine = torch_engine(base, {"p": None})
    rows = []
    for prompt in prompts:
        for said in says:
            before = base.vocabulary.prompt([("user", prompt)])
            ids = before + base.vocabulary.encode(said) + tuple(base.vocabulary.ends)[:1]
            rows.append(Row(ids=ids, mask=tuple(i >= len(before) for i in range(len(ids))), policy="p"))
    tune(engine, rows * 4, Lesson(epochs=8, batch=len(says) * 2, adam=Adam(lr=3e-3)))
    assert isinstance(engine._body, Network)
    save_module(engine._body.policy("p"), folder)
    return str(folder)
