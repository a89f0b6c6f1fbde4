"""Under which names does a run appear in Prometheus? The table of exporter, dashboard and alerts."""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "visgym_maze_"
EXPORTED = f"ray_{PREFIX}"
"""What a name begins with where it is scraped: Ray puts its own prefix before it."""


class Measure(NamedTuple):
    """A number of a training step.

    Attributes:
        name: Valid in Prometheus, without prefix.
        key: Its name in SkyRL's log of the step.
        about: What it says, with its unit.
    """

    name: str
    key: str
    about: str


MEASURES = (
    Measure("success_rate", "environment/avg_success", "Share of training episodes that reached the goal"),
    Measure("reward_mean", "environment/avg_reward", "Mean reward of an episode"),
    Measure("turns_mean", "environment/avg_turns", "Mean number of answers of an episode"),
    Measure("parse_failures_mean", "environment/avg_parse_failures", "Answers per episode that are no move"),
    Measure("bumps_mean", "environment/avg_bumps", "Walks into a wall per episode"),
    Measure("turn_limit_share", "environment/avg_stop_turn_limit", "Share of episodes out of turns"),
    Measure("context_limit_share", "environment/avg_stop_context_limit", "Share of episodes out of context"),
    Measure("lost_rollouts", "rollouts/lost", "Rollouts of the step that were lost to a fault"),
    Measure("turns_per_second", "rollouts/turns_per_second", "Answers played in a second"),
    Measure("tokens_per_second", "rollouts/tokens_per_second", "Tokens sampled in a second"),
    Measure("episode_tokens_mean", "generate/avg_num_tokens", "Mean number of tokens of an episode"),
    Measure("entropy", "policy/policy_entropy", "Entropy of the policy in nats per token"),
    Measure("policy_loss", "policy/policy_loss", "Loss of the policy"),
    Measure("kl", "policy/policy_kl", "KL divergence from the initial policy; only with kl > 0"),
    Measure("clip_share", "policy/loss_metrics/clip_ratio", "Share of tokens whose ratio was clipped"),
    Measure("grad_norm", "policy/grad_norm", "Norm of the gradient before clipping"),
    Measure("learning_rate", "policy/policy_lr", "Learning rate"),
    Measure(
        "logprob_gap",
        "policy/rollout_train_logprobs_abs_diff_mean",
        "Mean absolute difference of log-probabilities between engine and trainer",
    ),
)

PHASES = {
    "generate": "timing/generate",
    "log_probabilities": "timing/fwd_logprobs_values_reward",
    "train": "timing/policy_train",
    "sync": "timing/sync_weights",
    "evaluate": "timing/eval",
    "save": "timing/save_checkpoints",
    "export": "timing/save_hf_model",
    "step": "timing/step",
}
"""Parts of a step and the keys of their seconds in SkyRL's log."""

EVALUATIONS = {"greedy": "eval/greedy/success_rate", "sampled": "eval/sampled/success_rate"}

OWN = {
    "step": "Optimisation steps done",
    "steps_left": "Optimisation steps to go; 0 once the run is complete",
    "step_timestamp_seconds": "Unix time at which the last step ended, or training began",
    "checkpoint_timestamp_seconds": "Unix time of the last checkpoint, or of the start",
    "zero_variance_share": "Share of groups whose rollouts all have one reward, so that nothing is learnt",
    "eval_success_rate": "Share of held-out mazes solved, by mode",
    "phase_seconds": "Seconds of the last step, by phase",
}
"""Gauges that are no copy of one logged number."""

STARTS = "starts_total"
TURNS = "episode_turns"


def exported(name: str) -> str:
    """The name under which Prometheus knows a metric of this package."""
    return f"{EXPORTED}{name}"


def gauges() -> dict[str, str]:
    """Name, without prefix, and description of every gauge."""
    return {**{measure.name: measure.about for measure in MEASURES}, **OWN}
