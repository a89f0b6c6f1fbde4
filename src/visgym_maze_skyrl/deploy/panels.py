"""Which charts answer the questions of a person who trains? Titles, units and PromQL, without any layout."""

from __future__ import annotations

from typing import NamedTuple

from visgym_maze_skyrl.run_metrics import STARTS, TURNS, exported

Query = tuple[str, str]
_RUN = 'run_id=~"$run_id"'
_CLUSTER = 'ray_io_cluster=~"$cluster"'


class Panel(NamedTuple):
    """One chart.

    Attributes:
        title: Its heading.
        unit: Unit in Grafana's names.
        queries: PromQL and legend of each line.
        about: What to look for.
    """

    title: str
    unit: str
    queries: list[Query]
    about: str


def sections() -> dict[str, list[Panel]]:
    """All panels, by the question that they answer."""
    return {
        "Does it learn?": _learning(),
        "Is the optimisation healthy?": _optimisation(),
        "Where does the time go?": _time(),
        "Does it go on?": _progress(),
        "What do the machines do?": _machines(),
    }


def _learning() -> list[Panel]:
    held_out = "The number that counts: the same mazes at every evaluation, greedy and sampled."
    flat = "Groups of equal rewards teach nothing; near 1 the mazes are too easy or too hard."
    turns = [_of("turns_mean"), _quantile(TURNS, 0.5), _quantile(TURNS, 0.9)]
    wrong = [_of("parse_failures_mean"), _of("bumps_mean")]
    return [
        Panel("Held-out mazes solved", "percentunit", [_of("eval_success_rate", "mode")], held_out),
        Panel("Training episodes solved", "percentunit", [_of("success_rate")], "Rises first."),
        Panel("Groups without variance", "percentunit", [_of("zero_variance_share")], flat),
        Panel("Mean reward", "short", [_of("reward_mean")], "Per training episode."),
        Panel("Turns of an episode", "short", turns, "The cap is max_turns."),
        Panel("No move, or into a wall", "short", wrong, "Answers per training episode."),
    ]


def _optimisation() -> list[Panel]:
    gap = "Between engine and trainer; a jump says that they no longer run the same policy."
    return [
        Panel("Entropy", "short", [_of("entropy")], "A fall to zero ends exploration."),
        Panel("Gradient norm", "short", [_of("grad_norm")], "Before clipping."),
        Panel("Gap of log-probabilities", "short", [_of("logprob_gap")], gap),
        Panel("Clipped tokens", "percentunit", [_of("clip_share")], "0 while updates are on-policy."),
        Panel("Loss and KL", "short", [_of("policy_loss"), _of("kl")], "KL only with kl > 0."),
        Panel("Learning rate", "sci", [_of("learning_rate")], "As scheduled."),
    ]


def _time() -> list[Panel]:
    cut = [_of("turn_limit_share"), _of("context_limit_share")]
    return [
        Panel("Seconds of a step", "s", [_of("phase_seconds", "phase")], "The phase step is the whole."),
        Panel("Tokens sampled", "short", [_of("tokens_per_second")], "Per second, over all engines."),
        Panel("Answers played", "short", [_of("turns_per_second")], "Per second, over all engines."),
        Panel("Tokens of an episode", "short", [_of("episode_tokens_mean")], "The cap is max_context."),
        Panel("Episodes cut off", "percentunit", cut, "Out of turns, out of context."),
        Panel("Lost rollouts", "short", [_of("lost_rollouts")], "Faults of engine or environment."),
    ]


def _progress() -> list[Panel]:
    ages = [
        (f"time() - {_of(f'{what}_timestamp_seconds')[0]}", f"{{{{run_id}}}} {what}")
        for what in ("step", "checkpoint")
    ]
    starts = (f"sum by (run_id) ({exported(STARTS)}{{{_RUN}}})", "{{run_id}}")
    return [
        Panel("Step", "short", [_of("step"), _of("steps_left")], "Done, and to go."),
        Panel("Age of the last step and checkpoint", "s", ages, "A fault costs the checkpoint's age."),
        Panel("Starts", "short", [starts], "1, and one more for every time that training was resumed."),
    ]


def _machines() -> list[Panel]:
    nodes = (f"count by (ray_io_cluster) (ray_node_mem_total{{{_CLUSTER}}})", "{{ray_io_cluster}}")
    weights = "The head needs room for all weights at a checkpoint."
    return [
        Panel("Nodes", "short", [nodes], "Head and workers that report."),
        Panel("GPU utilisation", "percent", [_by_node("avg", "ray_node_gpus_utilization")], "By node."),
        Panel("GPU memory", "mbytes", [_by_node("sum", "ray_node_gram_used")], "By node."),
        Panel("Requests", "short", [_by_node("sum", "ray_vllm_num_requests_running")], "In the engines."),
        Panel("KV cache", "percentunit", [_by_node("avg", "ray_vllm_kv_cache_usage_perc")], "In use."),
        Panel("Memory", "bytes", [_by_node("sum", "ray_node_mem_used")], weights),
    ]


def _of(name: str, *by: str) -> Query:
    """A gauge of the run and its legend; the largest counts, so that a restart makes no second line."""
    labels = ", ".join(("run_id", *by))
    what = [f"{{{{{label}}}}}" for label in by] or [name]
    return f"max by ({labels}) ({exported(name)}{{{_RUN}}})", " ".join(["{{run_id}}", *what])


def _quantile(name: str, q: float) -> Query:
    rate = f"rate({exported(name)}_bucket{{{_RUN}}}[$__rate_interval])"
    return f"histogram_quantile({q}, sum by (run_id, le) ({rate}))", f"{{{{run_id}}}} p{int(100 * q)}"


def _by_node(function: str, metric: str) -> Query:
    return f"{function} by (instance) ({metric}{{{_CLUSTER}}})", "{{instance}}"
