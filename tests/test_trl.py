"""TRL itself reads what is handed to it and takes a step on it, with a model of one layer over bytes."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from method_runs import SUM, play

import motet
from motet.agent import Agent
from motet.models.scripted import Line, Scripted
from motet.models.trainable.tiny import tiny_config, tiny_options
from motet.models.trainable.weights import load_base, random_module
from motet.tape import Scored, Tape
from motet.tape.export import export
from motet.tools import calculator
from motet.train import Loss, Row, torch_engine
from motet.train.builders import Built, Example, Label, Pair, Span
from motet.train.handoff import handoff
from motet.types import Message

pytestmark = [
    pytest.mark.slow,
    # TRL calls parts of transformers by their old names.
    pytest.mark.filterwarnings(r"ignore:`(is_)?gradient_checkpointing\w*` is deprecated:FutureWarning"),
]
TEMPLATE = (
    "{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a tokenizer of bytes, as transformers saves them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("weights")
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<end>", "<pad>"]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", pad_token="<pad>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = tiny_config(tiny_options("hidden=16,layers=1,heads=2"))
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    random_module(config, 0).save_pretrained(folder)
    return folder


@motet.team
async def pair_up(task, thinker, writer):
    return await writer.ask(task, await thinker.ask(task))


def run(thought: str | Agent, answer: str, mark: float) -> Tape:
    thinker = thought if isinstance(thought, Agent) else Scripted([thought])
    tape = play(pair_up.cast(thinker=thinker, writer=Scripted([answer])), SUM).tape
    tape.events.append(Scored("numeric", mark, 0.0))
    return tape


def runs() -> list[Tape]:
    called = {"name": "calculator", "arguments": {"expression": "17+25"}}
    user = Agent(Scripted([Line("", tool_calls=[called]), "It is 42"]), tools=[calculator])
    return [
        run("25 it is", "Answer: 42", 1.0),
        run("no idea", "Answer: 41", 0.0),
        run(user, "Answer: 42", 1.0),
    ]


USER, WRONG, AGAIN, RIGHT = (
    Message.say("user", "2+2?"),
    Message.say("assistant", "5"),
    Message.say("user", "No."),
    Message.say("assistant", "4, sorry"),
)
BUILT = Built(
    (
        Example((USER, WRONG, AGAIN, RIGHT), (False, False, False, True), 2.0, "v", ("r",), (Span(3, 0, 1),)),
        Example((USER, RIGHT, AGAIN, RIGHT), (False, True, False, True)),
    ),
    (Pair((USER,), RIGHT, WRONG, "v"),),
    (Label((USER,), WRONG, False),),
)
SOURCES: dict[str, Callable[[str, Path], str]] = {
    "runs": lambda to, out: export(runs(), to, out),
    "built": lambda to, out: handoff(BUILT, to, out),
}
Trainer = Callable[..., Any]


@pytest.fixture(params=SOURCES)
def trainer(request: pytest.FixtureRequest, weights: Path, tmp_path: Path) -> Trainer:
    """Makes TRL's trainer of a kind on the rows of a source."""

    def make(kind: str, **options: Any) -> Any:
        import trl
        from datasets import Dataset, disable_progress_bars

        disable_progress_bars()
        SOURCES[request.param](f"trl-{kind.lower()}", tmp_path / "rows.jsonl")
        rows = Dataset.from_json(str(tmp_path / "rows.jsonl"), cache_dir=str(tmp_path / "cache"))
        config = getattr(trl, f"{kind}Config")(
            output_dir=str(tmp_path / "out"),
            max_steps=1,
            per_device_train_batch_size=len(rows),
            learning_rate=1e-2,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            **options,
        )
        return getattr(trl, f"{kind}Trainer")(model=str(weights), args=config, train_dataset=rows)

    return make


def batch_of(trainer: Any) -> dict[str, torch.Tensor]:
    return next(iter(trainer.get_train_dataloader()))


def said(trainer: Any, ids: torch.Tensor, mask: torch.Tensor) -> list[str]:
    """The words that a trainer trains on, row by row."""
    return sorted(trainer.processing_class.decode(row[on]) for row, on in zip(ids, mask, strict=True))


def step(trainer: Any) -> float:
    """Take one step, see that the weights moved, and return the loss before it."""
    before = [p.detach().clone() for p in trainer.model.parameters()]
    loss = trainer.train().training_loss
    assert all(not torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
    return loss


CALL = 'calculator{"expression": "17+25"}'
SAID = {
    "runs": ["25 it is", "Answer: 42", "Answer: 42", "It is 42", CALL],
    "built": ["4, sorry", "4, sorry", "4, sorry"],
}


def test_sft_trains_what_was_said_with_the_loss_that_we_have(
    trainer: Trainer, weights: Path, request: pytest.FixtureRequest
) -> None:
    sft = trainer("SFT")
    batch = batch_of(sft)
    on = batch["labels"] != -100
    source = request.node.callspec.params["trainer"]
    offered = [sft.processing_class.decode(row).count("[calculator]") for row in batch["input_ids"]]
    assert sum(offered) == (2 if source == "runs" else 0)
    assert said(sft, batch["input_ids"], on) == sorted(f"{text}<end>" for text in SAID[source])
    rows = [
        Row(ids=tuple(i.tolist()), mask=tuple(m.tolist()))
        for i, m in zip(batch["input_ids"], on, strict=True)
    ]
    ours = torch_engine(load_base(str(weights)), device="cpu").forward_backward("policy", rows, Loss("sft"))
    assert step(sft) == pytest.approx(ours["loss"], abs=1e-5)


def test_dpo_compares_what_was_said(trainer: Trainer) -> None:
    dpo = trainer("DPO")
    batch = batch_of(dpo)
    half = len(batch["input_ids"]) // 2
    chosen, rejected = (
        said(dpo, batch["input_ids"][at], batch["completion_mask"][at].bool())
        for at in (slice(half), slice(half, None))
    )
    assert set(chosen) <= {"25 it is<end>", f"{CALL}<end>", "4, sorry<end>"}
    assert set(rejected) <= {"no idea<end>", "5<end>"}
    assert step(dpo) == pytest.approx(math.log(2), abs=1e-5)  # the policy is still its reference


WRONGLY = {"runs": ["no idea", "Answer: 41"], "built": ["5"]}


def test_kto_tells_good_from_bad(trainer: Trainer, request: pytest.FixtureRequest) -> None:
    kto = trainer("KTO")
    batch = batch_of(kto)
    source, wanted = request.node.callspec.params["trainer"], batch["label"].bool()
    for texts, at in ((SAID, wanted), (WRONGLY, ~wanted)):
        found = said(kto, batch["input_ids"][at], batch["completion_mask"][at].bool())
        assert set(found) == {f"{text}<end>" for text in texts[source]}
    assert step(kto) == pytest.approx(0.5, abs=1e-5)
