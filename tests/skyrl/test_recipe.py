"""Recipes, overrides and their errors."""

import dataclasses

import pytest

from visgym_maze import role_of
from visgym_maze_skyrl.recipe import (
    RECIPES,
    Recipe,
    RecipeError,
    differences,
    override,
    recipe_named,
    recipe_record,
)

pytestmark = pytest.mark.train


def test_an_override_changes_the_field_with_its_own_type():
    recipe, passed = override(
        recipe_named("tiny"), ["steps=80", "learning_rate=5e-4", "feedback=false", "trainer.seed=7"]
    )
    assert (recipe.steps, recipe.learning_rate, recipe.feedback) == (80, 5e-4, False)
    assert passed == ["trainer.seed=7"]


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("setps=80", "did you mean 'steps'"),
        ("steps", "key=value"),
        ("steps=many", "type int"),
        ("feedback=perhaps", "true or false"),
        ("size=8", "try 9"),
        ("style=neon", "unknown style 'neon'"),
        ("dialect=xml", "unknown dialect 'xml'"),
        ("group_size=1", "at least 2"),
        ("steps=0", "at least 1"),
        ("temperature=0", "above 0"),
        ("seed=-1", "0 or more"),
        ("mini_batch_mazes=5", "must divide"),
        ("keep_checkpoints=0", "at least 1"),
        ("reward_success=nan", "finite"),
        ("learning_rate=inf", "finite"),
        ("clip_high=nan", "finite"),
        ("kl=-1", "0 or more"),
        ("turn_credit=-1", "0 or more"),
        ("turn_discount=0", "above 0 and at most 1"),
        ("turn_discount=1.1", "above 0 and at most 1"),
        ("clip_low=-1", "0 or more"),
        ("lora_alpha=-5", "above 0"),
        ("model=", "model is empty"),
        ("keep_checkpoints=-5", "at least 1"),
        ("prompt=missing.json", "missing.json"),
    ],
)
def test_a_bad_override_names_the_value_and_the_remedy(assignment, message):
    with pytest.raises(RecipeError, match=message):
        override(recipe_named("tiny"), [assignment])


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(RecipeError, match="did you mean 'smoke'"):
        recipe_named("smok")


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_keeps_training_and_evaluation_apart_and_solvable(name):
    recipe = dataclasses.replace(recipe_named(name), train_levels=200)
    train, held_out = recipe.split("train"), recipe.split("eval")
    assert not {level.symmetry_key for level in train} & {level.symmetry_key for level in held_out}
    assert all(role_of(level) == "eval" for level in held_out)
    assert held_out.solvable_within(recipe.max_moves) == len(held_out) == recipe.eval_levels


def test_held_out_mazes_do_not_depend_on_the_seed():
    one, two = (dataclasses.replace(Recipe(), seed=seed).split("eval").key for seed in (1, 2))
    assert one == two


def test_a_resumed_run_may_have_more_steps_but_no_other_mazes():
    record = recipe_record(Recipe())
    assert not differences(Recipe(steps=99, output="elsewhere"), record)
    assert set(differences(Recipe(seed=3, size=9), record)) == {"seed", "size"}


def test_a_field_that_came_later_does_not_keep_an_old_run_from_going_on():
    record = recipe_record(Recipe())
    del record["gradient_checkpointing"]
    assert not differences(Recipe(), record)
    assert differences(Recipe(gradient_checkpointing=True), record) == {
        "gradient_checkpointing": (False, True)
    }
