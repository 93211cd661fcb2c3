"""Published inference methods, one small file each, in folders by mechanism.

Each is a team: cast it, set its knobs, run it. `METHODS` says where each comes from and what it costs.

>>> from motet import Task
>>> self_consistency(n=3).cast("sim:skill=1").run(Task("2 + 2?", target="4", kind="number")).answer
'4'
"""

from motet.errors import UnknownName
from motet.methods import (
    aggregate,
    code,
    discuss,
    latent,
    memory,
    organise,
    plan,
    refine,
    retrieve,
    route,
    search,
    single,
)
from motet.methods.aggregate import (
    Log,
    adaptive_consistency,
    best_aggregator,
    best_of_n,
    fittest,
    focal_diversity,
    focal_fusion,
    mixture_of_agents,
    patched,
    patched_moa,
    rank_and_fuse,
    read_log,
    run_grouped,
    self_consistency,
    self_moa,
    self_moa_seq,
    skill_probe,
    skill_profiles,
    smoa,
    symbolic_moe,
    train_decider,
    train_fusion,
)
from motet.methods.code import EditTree, agent_coder, chase_sql, codecor, swe_search
from motet.methods.discuss import (
    agent4debate,
    best_agents,
    debate,
    discussion,
    distil,
    drift,
    dylan,
    elo_ratings,
    evidence,
    importance_scores,
    jail_judge,
    judged_debate,
    message_shares,
    monopoly,
    verdict,
    winner,
)
from motet.methods.info import Method
from motet.methods.latent import latent_hierarchy, latent_mas
from motet.methods.memory import Experience, Stream, generative_agents, xolver
from motet.methods.organise import (
    agent_verse,
    internet_of_agents,
    magentic_one,
    meta_gpt,
    self_organized,
    workforce,
)
from motet.methods.plan import master, plangen
from motet.methods.refine import e2g, self_refine, talkhier
from motet.methods.retrieve import chain_of_agents, ext_agents, hm_rag, main_rag, ragenta
from motet.methods.route import (
    Controller,
    Entry,
    Roster,
    agent_store,
    allocate,
    cascade,
    free_agents,
    improper_mixture,
    knapsack_composer,
    llm_selector,
    mas_router,
    season,
    self_instruct,
    train_mixture,
    train_router,
    train_tokens,
)
from motet.methods.search import mcts, toa
from motet.methods.single import chain_of_thought, direct

METHODS: dict[str, Method] = {
    **single.METHODS,
    **aggregate.METHODS,
    **search.METHODS,
    **route.METHODS,
    **refine.METHODS,
    **plan.METHODS,
    **discuss.METHODS,
    **organise.METHODS,
    **code.METHODS,
    **retrieve.METHODS,
    **memory.METHODS,
    **latent.METHODS,
}
"""All methods by name, family by family; each family's own table lies in its folder."""


def method(name: str) -> Method:
    """Find a method by name.

    Raises:
        UnknownName: there is none; close names are given.
    """
    if name not in METHODS:
        raise UnknownName("method", name, METHODS)
    return METHODS[name]


__all__ = [
    "METHODS", "Controller", "EditTree", "Entry", "Experience", "Log", "Method", "Roster", "Stream",
    "adaptive_consistency", "agent4debate", "agent_coder", "agent_store", "agent_verse", "allocate",
    "best_agents", "best_aggregator", "best_of_n", "cascade", "chain_of_agents", "chain_of_thought",
    "chase_sql", "codecor", "debate", "direct", "discussion", "distil", "drift", "dylan", "e2g",
    "elo_ratings", "evidence", "ext_agents", "fittest", "focal_diversity", "focal_fusion", "free_agents",
    "generative_agents", "hm_rag", "importance_scores", "improper_mixture", "internet_of_agents",
    "jail_judge", "judged_debate", "knapsack_composer", "latent_hierarchy", "latent_mas", "llm_selector",
    "magentic_one", "main_rag", "mas_router", "master", "mcts", "message_shares", "meta_gpt", "method",
    "mixture_of_agents", "monopoly", "patched", "patched_moa", "plangen", "ragenta", "rank_and_fuse",
    "read_log", "run_grouped", "season", "self_consistency", "self_instruct", "self_moa", "self_moa_seq",
    "self_organized", "self_refine", "skill_probe", "skill_profiles", "smoa", "swe_search", "symbolic_moe",
    "talkhier", "toa", "train_decider", "train_fusion", "train_mixture", "train_router", "train_tokens",
    "verdict", "winner", "workforce", "xolver",
]  # fmt: skip
