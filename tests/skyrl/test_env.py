"""The SkyRL environment against the dialogue it wraps."""

import copy
import json

import pytest
import skyrl_gym

from visgym_maze import MazeDialogue, RewardSpec, Split, picture_urls, solve, spell
from visgym_maze_skyrl.dataset import eval_dataset, train_dataset
from visgym_maze_skyrl.env import ENV_ID, register
from visgym_maze_skyrl.recipe import Recipe, RecipeError

pytestmark = pytest.mark.train

RECIPE = Recipe(steps=3, mazes_per_step=4, reward_progress=0.3, reward_format=0.1, train_levels=64)


@pytest.fixture
def env():
    register()
    register()  # a second call changes nothing
    _, env_id, extras, _ = train_dataset(RECIPE)[0]
    return skyrl_gym.make(env_id, env_config={}, extras=extras)


def test_an_episode_earns_what_the_dialogue_pays_turn_by_turn(env):
    dialogue = MazeDialogue(env.dialogue.layout, reward=RECIPE.reward(), **RECIPE.dialogue_options())
    first, info = env.init([])
    assert first == dialogue.reset()
    assert info["layout_key"] == dialogue.layout.key
    answers = [spell(a) for a in solve(dialogue.layout).path()] + ["<action>stop</action>"]
    answers.insert(1, "no action here")
    for answer in answers:
        ours, expected = env.step(answer), dialogue.step(answer)
        assert ours["observations"] == expected.messages
        assert ours["reward"] == expected.reward
        assert ours["done"] == expected.done
    metrics = env.get_metrics()
    assert metrics["avg_success"] == 1.0
    assert metrics["avg_parse_failures"] == 1.0
    assert metrics["avg_reward"] == pytest.approx(dialogue.trajectory().total_reward)
    assert metrics["avg_stop_goal"] == 1.0


def test_every_turn_carries_one_picture(env):
    messages, _ = env.init([])
    assert len(picture_urls(messages)) == 1
    step = env.step("<action>up</action>")
    assert len(picture_urls(step["observations"])) == 1


def test_rows_survive_json_and_name_their_maze():
    dataset = train_dataset(RECIPE)
    assert len(dataset) == RECIPE.steps * RECIPE.mazes_per_step
    for prompt, env_id, extras, uid in (dataset[i] for i in range(len(dataset))):
        assert env_id == ENV_ID
        assert json.loads(json.dumps(extras)) == extras
        assert prompt[0]["role"] == "user"
        env = skyrl_gym.make(env_id, env_config={}, extras=copy.deepcopy(extras))
        assert env.layout_key == extras["layout_key"]
        assert uid == str(extras["group"])


def test_a_longer_run_plays_the_same_mazes_first():
    short, long = train_dataset(RECIPE), train_dataset(Recipe(steps=6, mazes_per_step=4, train_levels=64))
    assert [g.layout for g in short.groups] == [g.layout for g in long.groups[: len(short)]]


def test_the_rows_of_a_step_are_different_mazes():
    dataset = train_dataset(RECIPE)
    for step in range(RECIPE.steps):
        rows = [dataset[step * 4 + i][2]["layout_key"] for i in range(4)]
        assert len(set(rows)) == 4


@pytest.mark.parametrize(("mazes", "levels"), [(32, 464), (24, 464), (7, 100), (5, 5), (4, 7)])
def test_no_step_plays_a_maze_twice_where_an_epoch_ends(mazes, levels):
    recipe = Recipe(steps=60, mazes_per_step=mazes, train_levels=levels)
    groups = train_dataset(recipe).groups
    assert len(groups) == 60 * mazes
    for step in range(60):
        played = groups[step * mazes : (step + 1) * mazes]
        assert len({group.layout for group in played}) == mazes
        assert len({group.index for group in played}) == mazes


def test_too_few_mazes_for_a_step_are_an_error_with_the_remedy():
    with pytest.raises(RecipeError, match="only 3 training mazes; lower it"):
        train_dataset(Recipe(train_levels=3))


def test_the_evaluation_plays_the_eval_split_once():
    keys = [group.layout.key for group in eval_dataset(RECIPE).groups]
    assert keys == [level.key for level in Split.make("eval", 7, 64, 0, RECIPE.max_moves)]


def test_a_changed_row_does_not_reach_its_siblings(env):
    _, _, extras, _ = train_dataset(RECIPE)[0]
    mine, theirs = copy.deepcopy(extras), copy.deepcopy(extras)
    first = skyrl_gym.make(ENV_ID, env_config={}, extras=mine)
    mine["layout"]["maze"].clear()
    mine["reward"]["success"] = 100.0
    second = skyrl_gym.make(ENV_ID, env_config={}, extras=theirs)
    assert first.layout_key == second.layout_key
    assert second.dialogue.reward == RewardSpec(format=0.1, progress=0.3)
