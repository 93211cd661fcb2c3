"""Named points of the product of axes, each with its source; what is not the paper's is said to be so."""

from motet.credit.preset import Preset
from motet.credit.presets import (
    anchors,
    counterfactual,
    critics,
    groups,
    hierarchy,
    running,
    teams,
    trees,
    turns,
)

PRESETS: dict[str, Preset] = {
    "compose": Preset(
        groups.compose,
        "Motet",
        "any key × source × time × baseline × scale; baseline=value is G_t − V_t",
        coalitions=counterfactual.if_compared,
    ),
    "reinforce": Preset(
        running.reinforce,
        "Williams 1992",
        "A = R − b; b ← .95b + .05R (as in 339, with one b for all)",
    ),
    "rloo": Preset(groups.rloo, "Ahmadian et al. 2024, arXiv:2402.14740", "A_i = R_i − mean_{j≠i} R_j"),
    "reinforce_pp": Preset(
        groups.reinforce_pp,
        "Hu 2025, arXiv:2501.03262",
        "A = (R − mean_batch)/(std_batch + eps)",
        reduction="token",
    ),
    "grpo": Preset(
        groups.grpo, "Shao et al. 2024, arXiv:2402.03300", "A_i = (R_i − mean_g)/(std_g + eps), ddof = 1"
    ),
    "dr_grpo": Preset(
        groups.dr_grpo, "Liu et al. 2025, arXiv:2503.20783", "A_i = R_i − mean_g", reduction="constant"
    ),
    "dapo": Preset(
        groups.dapo,
        "Yu et al. 2025, arXiv:2503.14476",
        "GRPO of R + min(0, −(len − (longest − cache))/cache); groups of equal R are dropped",
        reduction="token",
    ),
    "ppo_token_gae": Preset(
        critics.ppo_token_gae,
        "Schulman et al. 2016, arXiv:1506.02438",
        "A_t = Σ_k (γλ)^k δ_{t+k} over tokens; a step shows the mean of its tokens",
        reduction="token",
        needs=("value",),
    ),
    "ppo_turn_gae": Preset(
        critics.ppo_turn_gae,
        "Wang et al. 2025 (RAGEN), arXiv:2504.20073; Wang et al. 2025 (VAGEN), arXiv:2510.16907",
        "GAE over turn ends with turn_gamma; A + V there is the reward of token GAE inside the turn",
        reduction="token",
        needs=("value",),
    ),
    "gigpo": Preset(
        anchors.gigpo,
        "Feng et al. 2025, arXiv:2505.10978",
        "A = F_g(R) + ω·F_state(G_t); F = (x − mean)/(std + eps), or less the mean with scale=none",
        system=337,
    ),
    "at_grpo": Preset(
        turns.at_grpo,
        "Zhao et al. 2025, arXiv:2510.11062",
        "z of α·R_team + r_local within (env, turn, agent) [α's place: from memory]",
        system=192,
    ),
    "magrpo": Preset(
        trees.magrpo,
        "Liu et al. 2025, arXiv:2508.04652",
        "R = r + γ·mean(R of children); A = R − mean of siblings; cross: Σ over joint samples of R − mean",
        system=171,
    ),
    "dr_mas": Preset(
        groups.dr_mas, "Feng et al. 2026, arXiv:2602.08847", "GRPO with mean and std of each (group, voice)"
    ),
    "rae": Preset(
        running.rae,
        "Liu et al. 2025 (SPIRAL), arXiv:2506.24119",
        "A = R − b_{game,role}; then b ← .95b + .05R",
        system=339,
    ),
    "mt_grpo": Preset(
        turns.mt_grpo,
        "Zeng et al. 2025, arXiv:2505.11821",
        "A_t = z(R) + λ·z(Σ turn rewards) before the last step, z(R) in it; without a tool call z(R + turn)",
    ),
    "igpo": Preset(
        turns.igpo,
        "Wang et al. 2025, arXiv:2510.14967",
        "r_t = p_{t+1} − p_t, r_T = outcome; Ã_t = Σ_{k≥t} γ^{k−t} z_g(r_k); snapshot: order=discount_first",
        system=350,
        needs=("answer_logp|reward",),
    ),
    "spa_rl": Preset(
        critics.spa_rl,
        "Wang et al. 2025, arXiv:2505.20732",
        "GAE of c_t + β·executable_t",
        system=351,
        reduction="token",
        needs=("value", "progress|reward"),
    ),
    "archer": Preset(
        critics.archer,
        "Zhou et al. 2024, arXiv:2402.19446",
        "A = min Q − min V, with Q = r + γ·min V' where no Q is given",
        system=305,
        needs=("value",),
    ),
    "marti": Preset(
        turns.marti,
        "Zhang et al. 2026 (MARTI), ICLR",
        "margin R + α(R − Q), quality R + α(QR − (1−Q)(1−R)), Q = mean of earlier rewards; + β·outcome",
        needs=("reward",),
    ),
    "epo": Preset(
        groups.grpo,
        "Xu et al. 2025, arXiv:2509.22576",
        "the parent's advantage unchanged: EPO's entropy and smoothing are terms of the loss",
        system=349,
    ),
    "aepo": Preset(
        groups.aepo,
        "Dong et al. 2025, arXiv:2510.14545",
        "A·(1 + α·z(H)), z over the batch [form and α from memory]",
        system=345,
    ),
    "public_goods": Preset(
        teams.public_goods,
        "Liang et al. 2025, arXiv:2508.02076",
        "r_i = −cost·c_i^power + bonus·c_i·Σc_<i + share·Q/n − penalty·[Q < threshold]; A = r − V or − mean",
        system=12,
        needs=("contribution|reward",),
    ),
    "waltz": Preset(
        teams.waltz,
        "Zhang et al. 2025, arXiv:2510.08240",
        "adviser: α·[label right]·(R_c(next) − R_c(now)) + label·[right] + form·r; answerer: R_c; z by voice",
        system=378,
        needs=("reward",),
    ),
    "llm_critic": Preset(
        turns.llm_critic,
        "He et al. 2025 (CollabUIAgents), arXiv:2502.14496",
        "the critic's score of each (voice, step) less the turn's mean",
        system=206,
        needs=("judge|reward",),
    ),
    "mmoa_rag": Preset(
        teams.mmoa_rag,
        "Chen et al. 2025, arXiv:2501.15228",
        "GAE of R_team at the end + the voice's own penalties",
        system=294,
        needs=("value",),
    ),
    "cory": Preset(
        teams.cory,
        "Ma et al. 2024, arXiv:2410.06101",
        "GAE of the sum of both voices' rewards",
        system=393,
        needs=("value",),
    ),
    "hierarchical": Preset(
        hierarchy.hierarchical,
        "prime-rl (Prime Intellect), hierarchical GRPO",
        "solver: R − mean of its proposal; proposer: u(p) − mean of the group, u = 4p(1−p)",
    ),
    "search_selfplay": Preset(
        hierarchy.search_selfplay,
        "Lu et al. 2025, arXiv:2510.18821",
        "solver: z within its proposal; proposer: 1 − p",
        system=379,
    ),
    "socratic": Preset(
        hierarchy.socratic,
        "Wang et al. 2025 (Socratic-Zero), arXiv:2509.24726",
        "generator: exp(−(p − ½)²/(2·0.2²)) [width from memory]; solver: R − mean",
        system=414,
    ),
    "malt": Preset(
        trees.malt,
        "Motwani et al. 2024, arXiv:2412.01928",
        "+1 where the mean of a node's leaves > .5, else −1 [the threshold from memory]",
        system=62,
    ),
    "difference": Preset(
        counterfactual.difference,
        "Wolpert & Tumer 2002",
        "A_i = R − R without voice i",
        needs=("without",),
        coalitions=counterfactual.absences,
    ),
    "leave_one_out": Preset(
        counterfactual.leave_one_out,
        "Wolpert & Tumer 2002",
        "A_i = v(all) − v(all but i)",
        needs=("coalitions",),
        coalitions=counterfactual.absences,
    ),
    "shapley": Preset(
        counterfactual.shapley,
        "Shapley 1953; sampled: Castro et al. 2009",
        "A_i = Σ_S |S|!(n−|S|−1)!/n!·(v(S∪i) − v(S))",
        needs=("coalitions",),
        coalitions=counterfactual.orders,
    ),
}
