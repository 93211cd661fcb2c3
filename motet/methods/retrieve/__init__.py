"""Knowledge from outside: found, filtered, shared among readers, and cited."""

from motet.methods.info import Method
from motet.methods.retrieve.chain_of_agents import chain_of_agents
from motet.methods.retrieve.ext_agents import ext_agents
from motet.methods.retrieve.hm_rag import hm_rag
from motet.methods.retrieve.main_rag import main_rag
from motet.methods.retrieve.ragenta import ragenta

METHODS: dict[str, Method] = {
    "main_rag": Method(main_rag, "retrieve", "Chang et al. 2025, arXiv:2501.00332", "≤ 2 * k + 1", 292),
    "ragenta": Method(
        ragenta, "retrieve", "Besrour et al. 2025, arXiv:2506.16988", "≤ 2 * k + 2 + m + min(1, m)", 17
    ),
    "hm_rag": Method(hm_rag, "retrieve", "Liu et al. 2025, arXiv:2504.12330", "≤ 5", 3),
    "chain_of_agents": Method(chain_of_agents, "retrieve", "Zhang et al. 2024, arXiv:2406.02818", "≤ n + 1"),
    "ext_agents": Method(
        ext_agents, "retrieve", "Liu et al. 2025, arXiv:2505.21471", "≤ T * (n + 1) + ceil(log2(n))", 416
    ),
}

__all__ = ["METHODS", "chain_of_agents", "ext_agents", "hm_rag", "main_rag", "ragenta"]
