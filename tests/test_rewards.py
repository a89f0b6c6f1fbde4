from collections.abc import Iterator
from typing import Any

import pytest

from visgym_maze import Layout, MazeDialogue, RewardSpec, StopReason, generate, solve, spell
from visgym_maze.rewards import TurnOutcome, success_alone
from visgym_maze.world.dynamics import MOVES, Action, transition

PRESETS = {
    "sparse": RewardSpec(),
    "format": RewardSpec(success=0.8, format=0.2),
    "progress": RewardSpec(progress=0.9),
    "costs": RewardSpec(step=-0.01, bump=-0.02, invalid=-0.05),
    "efficiency": RewardSpec(efficiency=0.5),
    "all": RewardSpec(
        success=1.0, format=0.2, progress=0.5, step=-0.01, bump=-0.02, invalid=-0.02, efficiency=0.3
    ),
}


def play(layout: Layout, answers: Iterator[str] | list[str], reward: RewardSpec) -> MazeDialogue:
    """Play the answers, the last one again and again, until the episode ends."""
    dialogue = MazeDialogue(layout, reward=reward)
    dialogue.reset()
    answers = list(answers)
    while not dialogue.done:
        number = len(dialogue.turns)
        dialogue.step(answers[min(number, len(answers) - 1)])
    return dialogue


def walks(layout: Layout) -> dict[str, list[str]]:
    """Answers of policies good and bad."""
    path = [spell(action) for action in solve(layout).path()]
    stop = spell(Action.STOP)
    first = solve(layout).path()[0]
    back = Action((first + 2) % 4)
    wall = next(spell(m) for m in MOVES if transition(layout, layout.start, m)[1])
    near_wall = next(spell(m) for m in MOVES if transition(layout, _before_goal(layout), m)[1])
    return {
        "oracle": [*path, stop],
        "detour": [spell(first), spell(back), *path, stop],
        "near, then the turn cap": [*path[:-1], near_wall],
        "on the goal, but no stop": [*path, "I am there"],
        "near, then stop": [*path[:-1], stop],
        "one step, then stop": [path[0], stop],
        "instant stop": [stop],
        "well-formed nonsense": [wall],
        "no action at all": ["which way?"],
    }


def _before_goal(layout: Layout) -> tuple[int, int]:
    cell = layout.start
    for action in solve(layout).path()[:-1]:
        cell, _ = transition(layout, cell, action)
    return cell


LAYOUTS = [generate(7, rng=seed, max_moves=10) for seed in range(12)]


def total(dialogue: MazeDialogue) -> float:
    return dialogue.trajectory().total_reward


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.key[:6])
def test_the_oracle_stays_the_best_policy(name: str, layout: Layout) -> None:
    returns = {walk: total(play(layout, answers, PRESETS[name])) for walk, answers in walks(layout).items()}
    best = max(returns.values())
    assert returns["oracle"] == pytest.approx(best)
    failures = {walk: value for walk, value in returns.items() if walk not in ("oracle", "detour")}
    assert max(failures.values()) < returns["detour"], failures


@pytest.mark.parametrize("name", ["progress", "all"])
def test_shaping_leaves_the_order_of_finished_episodes_as_it_was(name: str) -> None:
    """Potential-based shaping adds the same to every episode that ends by a stop: nothing."""
    shaped = PRESETS[name]
    plain = RewardSpec(**{**vars(shaped), "progress": 0.0})
    for layout in LAYOUTS:
        for walk, answers in walks(layout).items():
            with_, without = play(layout, answers, shaped), play(layout, answers, plain)
            if with_.stop_reason is not StopReason.TURN_LIMIT:
                assert total(with_) == pytest.approx(total(without)), walk


def test_every_optimal_first_action_stays_optimal_and_no_other_becomes_so() -> None:
    """Exact values by going through all states and turns left, with and without shaping."""
    layout, turns = generate(7, "braided", 4, max_moves=8), 10
    solution = solve(layout)

    def value(reward: RewardSpec, cell: tuple[int, int], left: int) -> tuple[float, set[Action]]:
        if left == 0:
            return 0.0, set()
        returns = {action: after(reward, cell, left, action) for action in Action}
        best = max(returns.values())
        return best, {action for action, v in returns.items() if v > best - 1e-9}

    memo: dict[tuple[object, ...], float] = {}

    def after(reward: RewardSpec, cell: tuple[int, int], left: int, action: Action) -> float:
        key = (reward, cell, left, action)
        if key not in memo:
            there, _ = transition(layout, cell, action)
            stopped = action is Action.STOP
            before, behind = solution.distance(cell), solution.distance(there)
            phi, phi_next = (1 - d / solution.moves for d in (before, behind))
            won = stopped and behind == 0
            shaping = -phi if stopped else phi_next - phi
            rest = 0.0 if stopped else value(reward, there, left - 1)[0]
            memo[key] = reward.success * won + reward.progress * shaping + rest
        return memo[key]

    for row in range(layout.height):
        for column in range(layout.width):
            distance = solution.distance((row, column))
            if 0 <= distance < turns:
                plain = value(RewardSpec(), (row, column), turns)[1]
                shaped = value(RewardSpec(progress=0.9), (row, column), turns)[1]
                assert shaped == plain


@pytest.mark.parametrize("name", PRESETS)
def test_paid_by_the_turn_or_at_the_end_the_sum_is_the_same(name: str) -> None:
    spec = PRESETS[name]
    at_the_end = RewardSpec(**{**vars(spec), "per_turn": False})
    for layout in LAYOUTS[:4]:
        for answers in walks(layout).values():
            by_turn, late = play(layout, answers, spec), play(layout, answers, at_the_end)
            assert total(late) == pytest.approx(total(by_turn))
            assert all(turn.reward == 0.0 for turn in late.turns[:-1])


def test_progress_is_paid_step_by_step() -> None:
    layout = LAYOUTS[0]
    moves = solve(layout).moves
    dialogue = play(layout, walks(layout)["oracle"], RewardSpec(progress=0.5))
    *steps, last = [turn.reward for turn in dialogue.turns]
    assert steps == pytest.approx([0.5 / moves] * moves)
    assert last == pytest.approx(0.5)  # success, less the potential that is given back


def test_the_format_bonus_follows_the_way_covered() -> None:
    layout = LAYOUTS[0]
    moves = solve(layout).moves
    spec = RewardSpec(format=0.2)
    returns = {walk: total(play(layout, answers, spec)) for walk, answers in walks(layout).items()}
    assert returns["oracle"] == pytest.approx(1.2)
    assert returns["near, then stop"] == pytest.approx(0.2 * (1 - 1 / moves))
    assert returns["one step, then stop"] == pytest.approx(0.2 / moves)
    assert returns["instant stop"] == returns["well-formed nonsense"] == 0.0


def test_efficiency_pays_for_short_ways() -> None:
    layout = LAYOUTS[0]
    moves = solve(layout).moves
    spec = RewardSpec(efficiency=1.0)
    assert total(play(layout, walks(layout)["oracle"], spec)) == pytest.approx(2.0)
    assert total(play(layout, walks(layout)["detour"], spec)) == pytest.approx(1 + moves / (moves + 2))


@pytest.mark.parametrize("field", ["success", "format", "progress", "step", "bump", "invalid", "efficiency"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "1"])
def test_weights_are_finite_numbers(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{field} must be a finite number, got {value!r}"):
        RewardSpec(**{field: value})


@pytest.mark.parametrize("progress", [-0.1, 1.0, 2.0])
def test_progress_stays_below_success(progress: float) -> None:
    with pytest.raises(ValueError, match="progress must lie between 0 and success"):
        RewardSpec(progress=progress)


@pytest.mark.parametrize("reward", [{"success": 1}, RewardSpec, 1.0])
def test_what_cannot_pay_a_turn_is_refused_before_the_episode(reward: Any) -> None:
    with pytest.raises(TypeError, match="RewardSpec or another callable"):
        MazeDialogue(generate(7, rng=0), reward=reward)


def test_the_usual_reward_says_what_success_pays_and_no_other_does() -> None:
    assert success_alone(RewardSpec()) == 1.0
    assert success_alone(RewardSpec(success=3, per_turn=False)) == 3.0
    for other in (
        RewardSpec(step=-0.1),
        RewardSpec(format=0.1),
        RewardSpec(progress=0.5),
        lambda outcome: 0.0,
    ):
        assert success_alone(other) is None

    class Doubled(RewardSpec):
        def __call__(self, outcome: TurnOutcome) -> float:
            return 2 * super().__call__(outcome)

    assert success_alone(Doubled()) is None
