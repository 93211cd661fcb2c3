"""Thoughts without words and keys and values that are used again: nothing is lost, and less is computed."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import motet
from motet import Store, Task
from motet.errors import BadRequest, ContextOverflow
from motet.methods import latent_hierarchy, latent_mas
from motet.models.latent import Thought, latent_space, read, think
from motet.models.names import model
from motet.models.rule import Rule
from motet.models.trainable.cache import new_cache
from motet.models.trainable.kv import Kv, can_turn, extend, lay, taken, turned
from motet.models.trainable.latent import _THINKERS, RIDGE, Remembering, Thinker, alignment
from motet.models.trainable.model import Torch
from motet.models.trainable.reuse import Anchor, Composed, KvPool, bare, spans
from motet.models.trainable.sample import Request, generate
from motet.models.trainable.weights import Base, Policy, load_base
from motet.types import FailureKind, Media, Message, Reply, Sampling

torch.set_num_threads(2)
TINY = "tiny:hidden=32,layers=3,heads=2,context=2048"
SUM = Task("What is 17 + 25?", target="42", kind="number")
ONE, TWO = tuple(b"a planner reads the question and plans"), tuple(b"a critic reads the plan, and speaks")


@pytest.fixture(scope="module")
def base() -> Base:
    """Weights larger than random ones are: what stands before a text then makes a difference."""
    made = load_base(TINY)
    with torch.no_grad():
        for weight in made.module.parameters():
            weight.mul_(4 if weight.ndim > 1 else 1)
    return made


@pytest.fixture
def made(base: Base) -> Torch:
    return Torch(Policy(base, base.module), keep_empty=True)


def logits(base: Base, cache: Any, ids: Sequence[int]) -> torch.Tensor:
    """What the model expects after these ids behind a cache."""
    with torch.inference_mode():
        return base.module.lm_head(extend(base.module, cache, ids=tuple(ids)))


def dense(base: Base, ids: Sequence[int]) -> torch.Tensor:
    with torch.inference_mode():
        return base.module(torch.tensor([list(ids)])).logits[0, -1]


def ask(model: Torch, *parts: Any, n: int = 1, **knobs: Any) -> list[Reply]:
    message = motet.agent.compose(parts)[0]
    return asyncio.run(model.sample([message], n, Sampling(**{"max_tokens": 8, "seed": 0} | knobs)))


@given(st.integers(-50, 50), st.integers(-50, 50))
@settings(max_examples=20, deadline=None)
def test_turns_add_up_and_keep_lengths(a: int, b: int) -> None:
    keys = torch.randn(2, 3, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    angles = 1 / 100 ** (torch.arange(4) / 4)
    assert torch.allclose(turned(turned(keys, angles, a), angles, b), turned(keys, angles, a + b))
    assert torch.allclose(turned(keys, angles, a).norm(dim=-1), keys.norm(dim=-1))


def test_keys_are_those_of_the_other_place_after_a_turn(base: Base) -> None:
    """All of them with nothing before; those of the first layer whatever stands before."""
    module, place = base.module, 23
    with torch.inference_mode():
        here, there = bare(module, ONE), new_cache(module.config)
        at = torch.arange(place, place + len(ONE))[None]
        module.base_model(torch.tensor([ONE]), position_ids=at, past_key_values=there, use_cache=True)
        moved = here.turned(module, place)
        assert torch.allclose(moved.keys, taken(there).keys, atol=1e-4)
        assert torch.allclose(moved.values, taken(there).values, atol=1e-4)
        behind = bare(module, TWO[:place] + ONE).cut(place, place + len(ONE))
    assert torch.allclose(moved.keys[0], behind.keys[0], atol=1e-4)
    assert torch.allclose(moved.values[0], behind.values[0], atol=1e-4)
    assert not torch.allclose(moved.keys[1], behind.keys[1], atol=1e-2)
    assert can_turn(module)


def test_a_model_without_rotary_positions_is_found_out() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    ends: dict[str, Any] = {"bos_token_id": None, "eos_token_id": 256}
    module = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=261, **ends)).eval()
    assert not can_turn(module)
    made = Torch(Policy(Base("gpt", module, load_base(TINY).vocabulary), module))
    assert made.latent_space is None


def test_a_memory_of_prompts_is_as_good_as_one_long_prompt(base: Base) -> None:
    space = base.digest
    plan = Thought(space, ONE, 0)
    critic = Thought(space, TWO, 0, (plan,))
    cache, computed = Thinker().memory(base.module, (critic,))
    assert computed == len(ONE + TWO) == critic.length == cache.get_seq_length()
    assert torch.allclose(logits(base, cache, b"so?"), dense(base, (*ONE, *TWO, *b"so?")), atol=1e-4)
    short = Request(tuple(b"so?"), (1, 2, 3), Sampling(temperature=0), 12)
    long = msgspec.structs.replace(short, prompt=(*ONE, *TWO, *b"so?"))
    short = msgspec.structs.replace(short, start=Remembering(base, (critic,), short.prompt))
    after, whole = generate(base.module, base.vocabulary, [short, long])
    assert [one.ids for one in after] == [one.ids for one in whole]
    for one, other in zip(after, whole, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_step_of_thought_is_the_aligned_hidden_state_read_as_a_word(base: Base) -> None:
    module = base.module
    cache, _ = Thinker().memory(module, (Thought(base.digest, ONE, 2),))
    with torch.inference_mode():
        inputs = module.get_input_embeddings()(torch.tensor([ONE]))
        for _ in range(2):
            hidden = module.base_model(inputs_embeds=inputs).last_hidden_state[0, -1]
            inputs = torch.cat([inputs, alignment(module)(hidden)[None, None]], dim=1)
        whole = module(
            inputs_embeds=torch.cat([inputs, module.get_input_embeddings()(torch.tensor([[65]]))], 1)
        )
    assert torch.allclose(logits(base, cache, b"A"), whole.logits[0, -1], atol=1e-3)


def test_what_was_forgotten_is_computed_again_and_is_the_same(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Thought(base.digest, TWO, 3, (Thought(base.digest, ONE, 3),))
    mind = Thinker()
    first, computed = mind.memory(base.module, (chain,))
    assert (computed, mind.memory(base.module, (chain,))[1]) == (chain.length, 0)
    monkeypatch.setattr("motet.models.trainable.latent.KEPT_TOKENS", 1)
    mind.think(base.module, Thought(base.digest, ONE, 0))
    again, computed = mind.memory(base.module, (chain,))
    assert computed == chain.length
    assert torch.equal(taken(first).keys, taken(again).keys)


def test_the_alignment_makes_its_error_as_small_as_can_be() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    shape: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    module = LlamaForCausalLM(LlamaConfig(vocab_size=60, tie_word_embeddings=False, **shape))
    found = alignment(module)
    o, e = module.lm_head.weight.detach(), module.get_input_embeddings().weight.detach()

    def error(w: torch.Tensor) -> float:
        return float((o @ w - e).square().sum() + RIDGE * w.square().sum())

    generator = torch.Generator().manual_seed(0)
    others = [found.matrix + 0.01 * torch.randn(16, 16, generator=generator) for _ in range(20)]
    assert error(found.matrix) < min(error(w) for w in [*others, torch.eye(16)])
    assert float(found(torch.randn(16, generator=generator)).norm()) == pytest.approx(
        float(e.norm(dim=1).mean())
    )


def test_tied_embeddings_need_no_alignment(base: Base) -> None:
    assert torch.allclose(alignment(base.module).matrix, torch.eye(32), atol=1e-3)


def test_three_voices_think_and_the_last_one_speaks(made: Torch) -> None:
    run = latent_mas(m=4).cast(made).run(SUM, store=Store.memory())
    *thinkers, judge = run.calls
    assert [call.voice for call in run.calls] == ["planner", "critic", "refiner", "judger"]
    assert [call.parents for call in run.calls] == [(), ("1",), ("2",), ("3",)]
    for call in thinkers:
        (part,) = run.tape.nodes[call.node].parts
        assert isinstance(part, Media)
        assert (part.name, run.tape.nodes[call.node].role) == ("4 latent steps", "assistant")
        assert (call.usage.output_tokens, call.usage.reasoning_tokens) == (4, 4)
    assert judge.usage.reasoning_tokens == 0
    assert judge.usage.output_tokens > 0
    known = [call.usage.cached_tokens for call in run.calls]
    heard = [call.usage.input_tokens for call in run.calls]
    assert known == [0, heard[0] + 4, heard[1] + 4, heard[2] + 4], "nothing is computed twice"


def test_words_cost_more_decoding_than_thoughts(made: Torch) -> None:
    class Wordy(Rule):
        """The same model behind a wrapper, which has no latent side."""

        async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
            return await made.sample(messages, n, sampling.but(max_tokens=24))

    def decoded(model: Any) -> int:
        spent = latent_mas(m=4).cast(model).run(SUM, store=Store.memory()).usage
        return spent.output_tokens - spent.reasoning_tokens

    wordy = Wordy(str, name="wordy")
    run = latent_mas.cast(wordy).run(SUM, store=Store.memory())
    assert all(run.tape.path(call.prompt)[-1].text for call in run.calls)
    agent = motet.Agent(made, sampling=Sampling(max_tokens=24))
    assert decoded(agent) <= 24 < decoded(wordy) <= 4 * 24


def test_whoever_cannot_read_thoughts_gets_words(made: Torch) -> None:
    agent = motet.Agent(made, sampling=Sampling(max_tokens=8))
    run = latent_mas(m=2).cast(agent, refiner="sim:skill=1").run(SUM, store=Store.memory())
    assert [call.usage.reasoning_tokens for call in run.calls] == [0, 0, 0, 0]
    run = latent_mas(m=2).cast(agent, planner="sim:skill=1").run(SUM, store=Store.memory())
    assert [call.usage.reasoning_tokens for call in run.calls] == [0, 2, 2, 0]
    run = latent_mas(m=2).cast(agent, critic="sim:fail=1").run(SUM, store=Store.memory())
    assert [call.failure.kind if call.failure else None for call in run.calls][1] == FailureKind.SERVER
    assert run.calls[2].parents == ("1",)


def test_experts_think_side_by_side_and_their_memories_lie_one_behind_the_other(
    base: Base, made: Torch
) -> None:
    run = latent_hierarchy(n=3, m=2).cast(made).run(SUM, store=Store.memory())
    assert run.calls[-1].parents == ("1", "2", "3")
    assert [call.usage.output_tokens for call in run.calls[:3]] == [2, 2, 2]
    assert run.calls[-1].usage.cached_tokens == sum(c.usage.input_tokens + 2 for c in run.calls[:3])
    one, two = Thought(base.digest, ONE, 0), Thought(base.digest, TWO, 0)
    cache, _ = Thinker().memory(base.module, (one, two))
    with torch.inference_mode():
        plain = bare(base.module, ONE + TWO).cut(len(ONE), len(ONE + TWO))
    placed = taken(cache, len(ONE))
    assert torch.allclose(placed.keys[0], plain.keys[0], atol=1e-4)
    assert not torch.allclose(placed.keys[1], plain.keys[1], atol=1e-2), "they have not read each other"


def test_thoughts_come_back_from_the_store_and_are_thought_again(base: Base) -> None:
    @motet.team
    async def pair(task: Task, one: motet.Voice, two: motet.Voice, *, words: int = 2) -> Reply:
        return await two.ask("Go on.", await one.ask(task, think(2)), max_tokens=words, temperature=0)

    store, task = Store.memory(), Task("Plan.")
    cast = pair.cast(Torch(Policy(base, base.module), keep_empty=True))
    first = cast(words=4).run(task, store=Store.memory())
    cast(words=2).run(task, store=store)
    _THINKERS.pop(base)
    again = cast(words=4).run(task, store=store, reuse=True)
    assert [call.cached for call in again.calls] == [True, False]
    assert again.answer == first.answer
    assert again.calls[1].usage.cached_tokens == 0 < first.calls[1].usage.cached_tokens


def test_what_cannot_be_thought_is_refused(base: Base, made: Torch) -> None:
    strange = Thought("other", ONE, 1).part()
    with pytest.raises(BadRequest, match="hand over words"):
        ask(made, "Go on.", strange)
    with pytest.raises(BadRequest, match="bytes"):
        read([Message("user", (msgspec.structs.replace(strange, data=None),))])
    with pytest.raises(ContextOverflow):
        ask(made, "Think.", think(2048))
    with pytest.raises(BadRequest, match="text only"):
        ask(made, "Look.", Media.of(b"", "image/png"))
    assert latent_space("nobody") is None
    first, second = ask(made, "Think.", think(2), n=2)
    assert first.message == second.message
    assert second.usage.tokens == 0


# --- texts under many prefixes ---

BEGINNINGS = (b"\x02You are a planner. Read this: ", b"\x02You are a strict critic. Somebody said: ")
END_OF_IT = b"\nNow say what you think of it."
TEXT = "The committee met on a rainy day to speak about the bridge, the school, and the price of bread."
NEAR = TEXT.replace("rainy", "sunny").replace("bread", "wheat")
FAR = "Mix 20g salt, 9 eggs; whisk (fast!) until stiff. FOLD in: sugar, zest, 150g flour -- bake @ 180C, 35m."
ODD = "zqj xkv 0192 8374 wvu tsr GHJ KLM 5566 7788 bnm poi uyt rew QAZ WSX EDC RFV TGB YHN UJM IKO LPT VBN!"


def placed(text: str, beginning: bytes = BEGINNINGS[0]) -> tuple[int, ...]:
    return (*beginning, *text.encode(), *END_OF_IT)


def composed(base: Base, pool: KvPool, prompt: tuple[int, ...], *texts: str) -> tuple[torch.Tensor, int]:
    """What is expected after a prompt that is put together from the pool, and how many tokens that took."""
    found = spans(prompt, [tuple(text.encode()) for text in texts])
    start = Composed(pool, Policy(base, base.module), prompt, found)
    with torch.inference_mode():
        cache, rest = start.begin(base.module)
    assert cache.get_seq_length() + len(rest) == len(prompt)
    return logits(base, cache, rest), start.computed


def naive(base: Base, prompt: tuple[int, ...], at: int, length: int) -> torch.Tensor:
    """The text's keys and values without a context, turned to their place and left as they are."""
    with torch.inference_mode():
        cache = new_cache(base.module.config)
        extend(base.module, cache, ids=prompt[:at])
        alone = bare(base.module, (prompt[0], *prompt[at : at + length])).cut(1, length + 1)
        lay(cache, alone.turned(base.module, at - 1))
    return logits(base, cache, prompt[at + length :])


def gap(base: Base, prompt: tuple[int, ...], found: torch.Tensor) -> float:
    """How far logits are from those of the whole prompt, as a share of their length."""
    whole = dense(base, prompt)
    return float((found - whole).norm() / whole.norm())


def test_a_text_that_stood_in_its_slot_is_as_it_was_and_costs_nothing(base: Base) -> None:
    pool = KvPool()
    for beginning in BEGINNINGS:
        prompt = placed(TEXT, beginning)
        first, computed = composed(base, pool, prompt, TEXT)
        assert gap(base, prompt, first) < 1e-4
        alone = len(TEXT) + 1 if beginning is BEGINNINGS[0] else 0
        assert computed == len(prompt) + alone, "once without a context, and in each context"
        again, computed = composed(base, pool, prompt, TEXT)
        assert gap(base, prompt, again) < 1e-4
        assert computed == len(END_OF_IT)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_text_near_an_anchor_is_corrected(base: Base, beginning: bytes) -> None:
    pool, prompt = KvPool(), placed(NEAR, beginning)
    for text in (TEXT, FAR):
        composed(base, pool, placed(text, beginning), text)
    found, computed = composed(base, pool, prompt, NEAR)
    assert computed == (len(NEAR) + 1) + len(END_OF_IT)
    plain = naive(base, prompt, len(beginning), len(NEAR))
    print(f"gap {gap(base, prompt, found):.4f}, without correction {gap(base, prompt, plain):.4f}")
    assert gap(base, prompt, found) < 0.5 * gap(base, prompt, plain)


def test_a_text_far_from_all_anchors_or_longer_than_they_are_is_computed(base: Base) -> None:
    pool = KvPool()
    for text in (TEXT, FAR, ODD[: len(TEXT) - 5], TEXT + " And then some more was said."):
        prompt = placed(text)
        found, computed = composed(base, pool, prompt, text)
        assert computed >= len(prompt) - len(BEGINNINGS[0])
        assert gap(base, prompt, found) < 1e-4
    pool.gamma = 1.0
    near = ODD[10:60] + TEXT[:40]
    assert composed(base, pool, placed(near), near)[1] < len(placed(near)), "any anchor serves at 1"


@given(st.lists(st.binary(min_size=2, max_size=6), max_size=4), st.binary(max_size=60))
@settings(max_examples=60, deadline=None)
def test_spans_are_texts_apart_and_inside(texts: list[bytes], prompt: bytes) -> None:
    found = spans(tuple(prompt), [tuple(text) for text in texts])
    known = {text[i : len(text) - j] for text in texts for i in (0, 1) for j in (0, 1)}
    assert all(prompt[a:b] in known and 0 < a < b < len(prompt) for a, b in found)
    assert all(b <= c for (_, b), (c, _) in pairwise(found))


def test_a_text_that_is_named_is_found_within_the_task(base: Base) -> None:
    model = Torch(Policy(base, base.module), keep_empty=True, reuse=KvPool(TEXT))
    team = motet.methods.direct.cast(motet.Agent(model, sampling=Sampling(temperature=0, max_tokens=1)))
    for i, question in enumerate(("Who met?", "When did they meet?")):
        run = team.run(f"{TEXT}\n\n{question}", store=Store.memory())
        saved = run.usage.cached_tokens
        assert (saved >= len(TEXT) - 1) if i else (saved == 0)


def test_the_pool_forgets_what_was_used_longest_ago(base: Base) -> None:
    pool = KvPool(room=150)
    for text in (TEXT, FAR, ODD):
        composed(base, pool, placed(text), text)
    assert 0 < pool.size <= 150
    pool, ids, kv = KvPool(room=8), (1, 2, 3), Kv(torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 3, 1))
    for slot in ((5,), (6,)):
        pool.anchored("w", slot, Anchor(ids, kv.values, kv))
    assert pool.near("w", (5,), ids, kv)
    pool.anchored("w", (7,), Anchor(ids, kv.values, kv))
    assert [bool(pool.near("w", slot, ids, kv)) for slot in ((5,), (6,), (7,))] == [True, False, True]


@motet.team
async def everybody(task: Task, voices: motet.Voices, *, rounds: int = 2) -> Reply:
    """Five fully connected voices: each reads the document of the task and what all said before."""
    said = [await voice.ask(f"You are voice {i} of some.", task) for i, voice in enumerate(voices)]
    for _ in range(rounds):
        said = [
            await voice.ask(f"You are voice {i} of some.", task, "The others said:", *said, "Go on.")
            for i, voice in enumerate(voices)
        ]
    return said[0]


def test_a_team_that_reads_the_same_texts_saves_most_of_its_prompts(base: Base) -> None:
    """With random weights no anchor is plainly the nearest, so any two serve here."""
    pool = KvPool(gamma=1.0)
    model = Torch(Policy(base, base.module), keep_empty=True, reuse=pool)
    documents = [Task(f"{TEXT} {FAR} {TEXT[i:]}", target="1") for i in range(6)]
    assert model.identity.endswith(f"@{base.digest}+{pool.name}")
    for document in documents:
        knobs = Sampling(temperature=0, max_tokens=2)
        team = everybody.cast(voices=[motet.Agent(model, sampling=knobs)] * 5)
        run = team.run(document, store=Store.memory())
    assert pool.spent.saved > 0.7
    assert run.usage.cached_tokens > 0.7 * run.usage.input_tokens
    new = f"{TEXT} {FAR} {TEXT[9:]}"
    for i, call in enumerate(run.calls[:5]):
        said = run.tape.path(call.prompt)[-1].text.replace(documents[-1].prompt, new)
        prompt = base.vocabulary.prompt([("user", said)])
        ((start, stop),) = spans(prompt, [tuple(new.encode())])
        found, computed = composed(base, pool, prompt, new)
        plain = naive(base, prompt, start, stop - start)
        assert i == 0 or computed < 0.1 * len(prompt), "without a context it is computed once"
        assert gap(base, prompt, found) < 0.5 * gap(base, prompt, plain)


def test_a_name_is_enough_to_share_keys_and_values() -> None:
    voice = model("kvcomm:tiny:hidden=32,layers=2,heads=2")
    assert voice is model("kvcomm:tiny:hidden=32,layers=2,heads=2"), "all voices of a name have one pool"
    assert voice.name.startswith("kvcomm:tiny") and "+kvcomm:gamma=0.3" in voice.identity
    task = Task(f"{TEXT} Who met?")
    knobs = Sampling(temperature=0, max_tokens=2)
    team = motet.methods.direct.cast(motet.Agent(voice, sampling=knobs))
    for _ in range(4):
        team.run(task, store=Store.memory())
    assert voice._reuse.spent.saved > 0
