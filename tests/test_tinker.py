"""The Tinker engine against a service in this process; `scripts/skyrl.py` puts the same to a real server."""

import asyncio
import sys
from pathlib import Path

import pytest
from tinker_service import Service

import motet
from motet import Sampling, Store, Task
from motet.errors import BadInput, MissingExtra, MotetError
from motet.models.trainable.adapters import Lora
from motet.models.trainable.tiny import Bytes
from motet.models.trainable.weights import load_base
from motet.train import REFERENCE, Adam, Loss, Row, check_engine, rows_of, torch_engine
from motet.train.tinker import TinkerEngine, tinker_engine

TINY = "tiny:hidden=16,layers=1,heads=2,context=128"


def engine(*, mean: bool = False, service: Service | None = None) -> TinkerEngine:
    service = service or Service(load_base(TINY), mean=mean)
    return TinkerEngine(service, TINY, {"one": 4, "two": 4}, Bytes(), "mean" if mean else "sum")


@pytest.fixture
def rows() -> list[Row]:
    """Two rows of different lengths, off policy, with different advantages."""
    nan = float("nan")
    return [
        Row(
            ids=(1, 2, 3, *said),
            mask=(False, False, False, *[True] * len(said)),
            logprobs=(nan, nan, nan, *[-5.3] * len(said)),
            advantages=(nan, nan, nan, *[gain] * len(said)),
            run=str(gain),
        )
        for said, gain in (((7, 8), 1.5), ((9, 10, 11, 12, 13), -0.5))
    ]


@pytest.mark.parametrize("mean", [False, True])
def test_it_keeps_the_contract_of_engines(mean: bool, tmp_path: Path) -> None:
    service = Service(load_base(TINY), mean=mean)
    check_engine(lambda: engine(mean=mean, service=service), tmp_path)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(
    "loss", [Loss("ppo"), Loss("reinforce"), Loss("sft"), Loss("gspo"), Loss("cispo"), Loss("ppo", kl=0.1)]
)
def test_a_step_is_that_of_the_torch_engine(loss: Loss, mean: bool, rows: list[Row]) -> None:
    far, near = engine(mean=mean), torch_engine(TINY, {"one": Lora(r=4, seed=0)}, device="cpu")
    for each in (far, near):
        mine = rows
        if loss.kl:
            known = each.logprobs(REFERENCE, rows)
            mine = [row.but(reference=logp) for row, logp in zip(rows, known, strict=True)]
        for _ in range(3):
            each.forward_backward("one", mine, loss)
            each.optim_step("one", Adam(lr=0.02, eps=1e-5, clip=0.1))
    for a, b in zip(far.logprobs("one", rows), near.logprobs("one", rows), strict=True):
        assert a == pytest.approx(b, abs=2e-4, nan_ok=True)
    known, learned = far.logprobs(REFERENCE, rows)[0], far.logprobs("one", rows)[0]
    assert abs(learned[-1] - known[-1]) > 0.01


def test_preferences_are_paired_whatever_their_order(rows: list[Row]) -> None:
    pair = [
        rows[1].but(label=-1.0, pair="p", reference=rows[1].logprobs),
        rows[0].but(label=1.0, pair="p", reference=rows[0].logprobs),
    ]
    trained = engine()
    before = trained.logprobs("one", pair)
    for _ in range(5):
        trained.forward_backward("one", pair, Loss("dpo"))
        trained.optim_step("one", Adam(lr=0.02))
    gains = [sum(b[3:]) - sum(a[3:]) for a, b in zip(before, trained.logprobs("one", pair), strict=True)]
    assert gains[0] < gains[1], "the wanted row gains on the unwanted one"


def test_a_voice_on_the_server_leaves_rows_that_train_it() -> None:
    trained = engine()

    @motet.team
    async def twice(task: Task, voice: motet.Voice) -> motet.Reply:
        chat = voice.chat()
        await chat.ask(task)
        return await chat.ask("Again.")

    run = twice.cast(voice=motet.Agent(trained.model("one"), sampling=Sampling(max_tokens=4))).run(
        Task("Say it."), store=Store.memory()
    )
    (row,) = rows_of([run.tape], {"voice": "one"})
    assert len(row.spans) == 2, "the second turn goes on with the ids of the first"
    (scored,) = trained.logprobs("one", [row])
    assert scored == pytest.approx(row.logprobs, abs=1e-4, nan_ok=True)
    trained.forward_backward("one", [row], Loss("sft"))
    before = trained.model("one").identity
    trained.optim_step("one", Adam(lr=1e-2))
    assert trained.model("one").identity != before


def test_equal_seeds_draw_equal_replies() -> None:
    model = engine().model("one")

    async def said(seed: int) -> list[str]:
        replies = await model.sample([motet.Message.say("user", "hi")], 2, Sampling(max_tokens=6, seed=seed))
        return [reply.text for reply in replies]

    assert asyncio.run(said(1)) == asyncio.run(said(1)) != asyncio.run(said(2))


def test_what_the_server_cannot_do_is_refused(rows: list[Row], tmp_path: Path) -> None:
    trained = engine()
    with pytest.raises(BadInput, match="entrop"):
        trained.forward_backward("one", rows, Loss("ppo", entropy=0.01))
    trained.save("one", tmp_path / "one")
    other = TinkerEngine(Service(load_base(TINY)), TINY, {"one": 8}, Bytes())
    with pytest.raises(BadInput, match="rank 4"):
        other.load("one", tmp_path / "one")
    (tmp_path / "one").write_bytes(b"{")
    with pytest.raises(MotetError, match="cut short"):
        trained.load("one", tmp_path / "one")


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tinker", None)
    with pytest.raises(MissingExtra, match=r"motet\[tinker\]"):
        tinker_engine("any")
