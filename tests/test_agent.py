import asyncio

import msgspec
import pytest
from voices import Echo

import motet
from motet import Agent, BufferMemory, Media, RetrievalMemory, Sampling, Store
from motet.errors import BadInput, SchemaMismatch, ToolLoop, UnknownName
from motet.models import model
from motet.models.scripted import Line, Scripted
from motet.types import FailureKind, Message


class Verdict(msgspec.Struct):
    good: bool
    why: str = ""


@motet.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@motet.tool
def crash() -> str:
    """Always break."""
    raise RuntimeError("boom")


def ask(agent: Agent, *parts, **options):
    return asyncio.run(agent.ask(*parts, **options))


def team_of(agent: Agent):
    @motet.team
    async def solo(task, voice):
        return await voice.ask(task)

    return solo.cast(agent)


def use(name: str, **arguments: object) -> Line:
    return Line(tool_calls=[{"name": name, "arguments": arguments}])


def test_an_agent_works_outside_a_team() -> None:
    reply = ask(Agent(Echo()), "hi", "there")
    assert reply.text == "[hi\n\nthere]"
    assert reply.usage.calls == 1


def test_asking_nothing_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="nothing to say"):
        ask(Agent(Echo()))


def test_instructions_are_the_system_message() -> None:
    run = team_of(Agent(Echo(), instructions="Be kind.")).run("Q")
    assert [m.role for m in run.tape.path(run.calls[0].prompt)] == ["system", "user"]


def test_a_chat_keeps_its_history_and_stores_it_once() -> None:
    @motet.team
    async def talk(task, voice):
        chat = voice.chat()
        await chat.ask("one")
        await chat.ask("two")
        return await chat.ask("three")

    run = talk.cast(Echo()).run("Q")
    assert [m.text for m in run.tape.path(run.calls[-1].prompt)] == ["one", "[one]", "two", "[two]", "three"]
    assert run.calls[-1].parents == ("2",)
    assert len(run.tape.nodes) == 6


def test_a_turn_that_fails_leaves_the_chat_as_it_was() -> None:
    async def main() -> list[str]:
        chat = Agent(Scripted(["one", Line(error="server"), "two"])).chat()
        await chat.ask("a")
        with pytest.raises(motet.MotetError):
            await chat.ask("b")
        await chat.ask("c")
        return [m.text for m in chat.thread.messages]

    assert asyncio.run(main()) == ["a", "one", "c", "two"]


def test_tools_run_until_the_model_answers() -> None:
    agent = Agent(Scripted([use("add", a=2, b=3), "It is 5."]), tools=[add])
    run = team_of(agent).run("2+3?")
    assert run.answer == "It is 5."
    assert [(t.name, t.result, t.call) for t in run.tape.tools] == [("add", "5", "1")]
    assert run.calls[1].parents == ("1",)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (use("ad", a=1), "did you mean add"),
        (use("add", a="one", b=2), "int"),
        (Line(tool_calls=[{"name": "add", "arguments": "{broken"}]), "JSON object"),
        (use("crash"), "boom"),
    ],
)
def test_a_tool_that_cannot_be_used_is_told_to_the_model(wish: Line, told: str) -> None:
    run = team_of(Agent(Scripted([wish, "Sorry."]), tools=[add, crash])).run("Q")
    assert run.answer == "Sorry."
    used = run.tape.tools[0]
    assert used.failure is not None and used.failure.kind is FailureKind.TOOL
    assert told in used.result


def test_a_model_that_never_stops_calling_tools_is_stopped() -> None:
    endless = Scripted([Line(match="", tool_calls=[{"name": "add", "arguments": {"a": 1, "b": 1}}])])
    with pytest.raises(ToolLoop, match="3 times in a row"):
        ask(Agent(endless, tools=[add], rounds=3), "Q")


@pytest.mark.parametrize("allowed", [True, False])
def test_tool_calls_wait_for_approval(allowed: bool) -> None:
    async def approve(call) -> bool:
        return allowed

    run = team_of(Agent(Scripted([use("add", a=1, b=1), "done"]), tools=[add], approve=approve)).run("Q")
    assert (run.tape.tools[0].result == "2") == allowed
    assert run.answer == "done"


def test_structured_output_is_parsed() -> None:
    reply = ask(Agent(Scripted(['{"good": true}'])), "Q", schema=Verdict)
    assert reply.data == Verdict(True)


def test_structured_output_is_repaired_once() -> None:
    scripted = Scripted(["good!", Line(match="did not fit", reply='{"good": false}')])
    run_reply = ask(Agent(scripted), "Q", schema=Verdict)
    assert run_reply.data == Verdict(False)
    with pytest.raises(SchemaMismatch):
        ask(Agent(Scripted(["no", "no"])), "Q", schema=Verdict)


def test_knobs_of_one_call_do_not_stay() -> None:
    agent = Agent(Echo(), sampling=Sampling(temperature=1.0))

    @motet.team
    async def solo(task, voice):
        await voice.ask(task, temperature=0)
        return await voice.ask(task)

    run = solo.cast(agent).run("Q")
    assert [c.sampling.temperature for c in run.calls] == [0, 1.0]


def test_media_lie_once_in_the_store() -> None:
    store, picture = Store.memory(), Media.of(b"\x89PNG", "image/png")

    @motet.team
    async def look(task, eye):
        await eye.ask("What is it?", picture)
        return await eye.ask("And now?", picture)

    run = look.cast(Echo()).run("Q", store=store)
    assert store.blob(picture.digest) == b"\x89PNG"
    part = run.tape.path(run.calls[0].prompt)[0].parts[1]
    assert isinstance(part, Media)
    assert part.data is None


def test_buffer_memory_recalls_the_last_and_links_it() -> None:
    @motet.team
    async def solo(task, voice):
        await voice.ask("one")
        await voice.ask("two")
        return await voice.ask("three")

    scripted = Scripted([Line(match="", reply="fine")])
    team = solo.cast(Agent(scripted, memory=BufferMemory(last=1)))
    for _ in range(2):
        run = team.run("Q")
        last = run.calls[-1]
        assert last.parents == ("2",)
        said = run.tape.path(last.prompt)[0].text
        assert "Q: two" in said
        assert "Q: one" not in said
        assert run.calls[0].parents == ()


def test_retrieval_memory_recalls_what_bears_on_the_question() -> None:
    memory = RetrievalMemory(k=1)
    for fact in ("The cat is grey.", "The house is old.", "The river is wide."):
        memory.note(fact, ask(Agent(Echo()), fact))
    assert "river" in str(memory.recall("How wide is the river?")[0])
    assert memory.recall("zebra") == ()


def test_model_names_are_checked() -> None:
    with pytest.raises(UnknownName, match="did you mean local"):
        Agent("locl")
    with pytest.raises(BadInput, match="sim:KEY=VALUE"):
        Agent("sim:")
    with pytest.raises(BadInput, match="is no model"):
        Agent(3)  # type: ignore[arg-type]
    assert model("sim:skill=0.5").name == "sim:skill=0.5"


def test_scripts_are_read_from_files_and_checked(tmp_path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('"first"\n{"agent": "critic", "reply": "no", "times": 1}\n')
    scripted = model(f"scripted:{path}")
    assert asyncio.run(scripted.sample([Message.say("user", "x")], 1, Sampling()))[0].text == "first"
    path.write_text('{"replay": "x"}\n')
    with pytest.raises(BadInput, match=r"line 1.*replay"):
        model(f"scripted:{path}")
    with pytest.raises(BadInput, match="cannot be read"):
        model("scripted:nowhere.jsonl")


def test_a_chat_branches_and_goes_on_from_any_branch() -> None:
    @motet.team
    async def talk(task, voice, other):
        chat = voice.chat()
        await chat.ask("one")
        first, _ = await chat.branches(2, "two")
        (foreign,) = await chat.branches(1, "two", by=other)
        assert [m.text for m in chat.thread.messages] == ["one", "[one]"], "it stays where it is"
        await chat.after(foreign, "two").ask("three")
        return await chat.after(first, "two").ask("four")

    run = talk.cast(voice=Echo(), other=Scripted(["I differ."])).run("Q")
    told = [[m.text for m in run.tape.path(call.prompt)] for call in run.calls]
    assert told[-2:] == [
        ["one", "[one]", "two", "I differ.", "three"],
        ["one", "[one]", "two", "[two]", "four"],
    ]
    assert [call.voice for call in run.calls] == ["voice", "voice", "voice", "other", "voice", "voice"]
    assert [call.parents for call in run.calls[1:]] == [("1",), ("1",), ("1",), ("4",), ("2",)]
