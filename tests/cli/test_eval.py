"""``visgym-maze eval`` and ``compare``: who plays, on what, and what is reported."""

import json

import pytest

from visgym_maze import OraclePolicy, RandomPolicy, Split, Trajectory, evaluate, report_files
from visgym_maze.cli.folder import claimed
from visgym_maze.report_files import write_report
from visgym_maze.suites import SUITES, suite_named

CALLABLES = """
def stop(messages):
    return "<action>stop</action>"

def broken(messages):
    if len(messages) > 1:
        raise KeyError("no such answer")
    return "<action>up</action>"

number = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with a module of callables, and the command runs in it."""
    (tmp_path / "mine_to_eval.py").write_text(CALLABLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return "mine_to_eval"


def test_the_oracle_solves_all_of_the_default_suite(run):
    data = run("eval", "--policy", "oracle", "--json").data
    assert (data["successes"], data["episodes"], data["ceiling"]) == (64, 64, 64)
    assert data["interval"] == pytest.approx([0.943, 1.0], abs=1e-3)
    assert data["split_key"] == suite_named("paper-64").key
    assert data["info"]["mazes"] == "paper-64"
    assert data["info"]["play"] == {"max_turns": 15}
    assert {"python", "visgym-maze", "numpy", "gymnasium"} <= set(data["info"]["versions"])


def test_the_random_policy_is_told_with_its_seed(run):
    data = [run("eval", "--policy", "random", "--seed", seed, "--json").data for seed in (1, 1, 2)]
    assert data[0]["info"]["sampling"] == {"mode": "sampled", "seed": 1}
    for one in data:
        one["info"].clear()
    assert data[0] == data[1] != data[2]
    assert data[0]["successes"] <= 2
    assert sum(data[0]["stop_reasons"].values()) == 64


def test_an_evaluation_leaves_report_episodes_and_picture(run, tmp_path):
    out = tmp_path / "out"
    result = run("eval", "--policy", "oracle", "--suite", "long-path", "--limit", 40, "--out", out)
    assert result.code == 0
    assert "40/40 solved (95 % interval 0.912-1.000, ceiling 40/40 within 30 turns)" in result.out
    report = json.loads((out / "report.json").read_text())
    assert report["by_path_length"] == {"16": [32, 32], "20": [7, 7], "24": [1, 1]}
    lines = (out / "trajectories.jsonl").read_text().splitlines()
    trajectories = [Trajectory.from_dict(json.loads(line)) for line in lines]
    levels = suite_named("long-path").levels[:40]
    assert {t.group: t.layout for t in trajectories} == dict(enumerate(levels))
    assert [o["maze"] for o in report["outcomes"]] == [level.key for level in levels]
    page = (out / "report.md").read_text()
    assert "| solved | 40/40 |" in page
    assert "| 20 | 7/7 | " in page
    assert "![solved by length of the shortest path](report.png)" in page
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")


def test_mazes_of_a_manifest_are_played_as_asked(run, tmp_path):
    split = Split.make("dev", 7, 5, max_moves=20)
    split.save(tmp_path / "dev.json")
    play = ["--max-turns", 7, "--moves-per-turn", 3, "--goal-rule", "reach", "--no-feedback"]
    play += ["--dialect", "json", "--prompt", "brief", "--style", "patch16", "--observe", "both"]
    data = run("eval", "--policy", "oracle", "--split", tmp_path / "dev.json", *play, "--json").data
    assert data["successes"] == data["ceiling"] == 5
    assert data["split_key"] == split.key
    assert data["info"]["play"] == {
        "max_turns": 7,
        "prompt": "brief",
        "style": "patch16",
        "observe": "both",
        "dialect": "json",
        "goal_rule": "reach",
        "max_moves_per_turn": 3,
        "feedback": False,
    }


def test_a_callable_plays(run, mine):
    data = run("eval", "--policy", f"{mine}:stop", "--limit", 5, "--json").data
    assert data["stop_reasons"] == {"wrong_stop": 5}
    assert data["seconds"]["answers"] == 5


def test_a_callable_that_fails_ends_the_evaluation_unless_asked_otherwise(run, mine, tmp_path):
    arguments = ["eval", "--policy", f"{mine}:broken", "--limit", 3, "--out", "out"]
    result = run(*arguments)
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert f"{mine}:broken failed with KeyError: 'no such answer'" in result.err
    assert "--on-error lose" in result.err
    result = run(*arguments, "--on-error", "lose")
    assert result.code == 1
    assert (
        "all 3 episodes were lost, so this says nothing of the policy; the first with KeyError" in result.err
    )
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["errors"] == {"KeyError": 3}
    assert report["info"]["on_error"] == "lose"
    assert "## Lost episodes" in (tmp_path / "out" / "report.md").read_text()
    again = run(*arguments, "--on-error", "lose")
    assert "3 that were lost are played again" in again.err
    assert len((tmp_path / "out" / "trajectories.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say who plays: --policy oracle"),
        (["--policy", "oracle", "--endpoint", "http://localhost/v1"], "say who plays"),
        (["--policy", "orcale"], "unknown policy 'orcale': it is none of oracle and random"),
        (
            ["--policy", "oracle", "--temperature", "1"],
            "--temperature is for a model folder or an endpoint, not",
        ),
        (
            ["--policy", "random", "--key-env", "KEY"],
            "--key-env is for an endpoint, not for the random policy",
        ),
        (["--policy", "nowhere_at_all:answer"], "there is no module 'nowhere_at_all'"),
        (["--policy", "mine_to_eval:missing"], "'mine_to_eval:missing' can't be loaded"),
        (["--policy", "mine_to_eval:number"], "is int, not a function from messages"),
        (["--policy", "oracle", "--suite", "paper"], "unknown suite 'paper'; known: blank-image"),
        (
            ["--policy", "oracle", "--suite", "paper-64", "--split", "x"],
            "give either --suite paper-64 or --split x",
        ),
        (["--policy", "oracle", "--split", "no.json"], "no.json"),
        (["--policy", "oracle", "--style", "neon"], "unknown style 'neon'"),
        (["--policy", "oracle", "--on-error", "hide"], "unknown --on-error 'hide'; known: raise, lose"),
    ],
)
def test_bad_input_gives_one_line_with_the_remedy(arguments, message, run, mine):
    result = run("eval", *arguments)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err


def test_a_folder_belongs_to_one_evaluation(run, tmp_path):
    assert run("eval", "--policy", "random", "--out", tmp_path, "--limit", 2).code == 0
    result = run("eval", "--policy", "oracle", "--out", tmp_path, "--limit", 2)
    assert result.code == 2
    assert f'the evaluation in {tmp_path} has policy "random", this one "oracle"; take another' in result.err
    (tmp_path / "evaluation.json").write_text("{")
    result = run("eval", "--policy", "random", "--out", tmp_path, "--limit", 2)
    assert "evaluation.json is damaged" in result.err
    (tmp_path / "evaluation.json").unlink()
    result = run("eval", "--policy", "random", "--out", tmp_path, "--limit", 2)
    assert "holds episodes of something else" in result.err


def test_two_evaluations_do_not_write_into_one_folder_at_once(run, tmp_path):
    with claimed(tmp_path, {}):
        result = run("eval", "--policy", "oracle", "--out", tmp_path)
    assert result.code == 2
    assert f"another evaluation is writing to {tmp_path}" in result.err


def test_the_suites_are_explained(run):
    data = run("eval", "--suites", "--json").data
    assert list(data) == list(SUITES)
    assert "Varies: the walls alone." in data["paper-64"]
    assert "paper-64: 64 held-out mazes" in run("eval", "--suites").out


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory):
    """Some evaluations, as the command leaves them."""
    folder = tmp_path_factory.mktemp("evaluations")
    levels = suite_named("paper-64").levels
    for name, policy, count, options in (
        ("oracle", OraclePolicy(), 20, {}),
        ("random", RandomPolicy(3), 20, {}),
        ("blank", OraclePolicy(), 20, {"observe": "blank"}),
        ("few", OraclePolicy(), 10, {}),
        ("twice", OraclePolicy(), 20, {"rollouts": 2}),
    ):
        info = {"policy": name, "play": {"observe": options.get("observe")}, "versions": {"python": name}}
        write_report(folder / name, *evaluate(policy, levels[:count], info=info, **options))
    return folder


def test_a_comparison_is_paired(run, evaluations):
    data = run("compare", evaluations / "random", evaluations / "oracle" / "report.json", "--json").data
    assert data["mazes"] == 20
    assert data["both"] + data["second_only"] == 20
    assert data["p_value"] == pytest.approx(2 * 0.5 ** data["second_only"])
    assert data["differences"]["policy"] == ["random", "oracle"]
    shown = run("compare", evaluations / "random", evaluations / "oracle")
    assert "McNemar's exact test: p = 1.91e-06" in shown.out
    assert "policy: first random, second oracle" in shown.out


def test_suites_that_share_their_mazes_can_be_compared(run, evaluations):
    data = run("compare", evaluations / "oracle", evaluations / "blank", "--json").data
    assert (data["both"], data["p_value"]) == (20, 1.0)
    assert data["differences"] == {
        "policy": ["oracle", "blank"],
        "play": [{"observe": None}, {"observe": "blank"}],
    }


def test_reports_of_other_mazes_are_refused(run, evaluations):
    result = run("compare", evaluations / "oracle", evaluations / "few")
    assert result.code == 2
    assert "these reports are of different mazes: 20" in result.err
    assert "10 of them shared" in result.err


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "holds no JSON"), ("{}", "is no report of format visgym-maze/report/1"), (None, "there is no ")],
)
def test_what_is_no_report_is_refused(content, message, run, evaluations, tmp_path):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    result = run("compare", evaluations / "oracle", path)
    assert result.code == 2
    assert message in result.err


def test_several_episodes_per_maze_can_not_be_paired(run, evaluations):
    result = run("compare", evaluations / "oracle", evaluations / "twice")
    assert result.code == 2
    assert "one episode per maze" in result.err


def test_without_matplotlib_the_report_has_no_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(report_files, "find_spec", lambda name: None)
    report, trajectories = evaluate(OraclePolicy(), suite_named("paper-64").levels[:2])
    files = report_files.write_report(tmp_path, report, trajectories)
    assert [file.name for file in files] == ["report.json", "report.md"]
    assert "report.png" not in (tmp_path / "report.md").read_text()


def test_an_evaluation_does_not_go_on_under_another_text_of_its_prompt_file(run, tmp_path):
    prompt = tmp_path / "prompt.json"
    again = (
        "eval",
        "--policy",
        "oracle",
        "--limit",
        2,
        "--prompt",
        prompt,
        "--out",
        tmp_path / "out",
        "--json",
    )
    prompt.write_text(json.dumps({"first": "Go. $goal_help", "later": "$feedback"}))
    assert run(*again).data["episodes"] == 2
    assert run(*again).data["info"]["episodes_before"] == 2
    prompt.write_text(json.dumps({"first": "Run. $goal_help", "later": "$feedback"}))
    refused = run(*again)
    assert refused.code == 2
    assert "prompt_sha256" in refused.err


def test_a_suite_that_was_changed_does_not_keep_its_name(run):
    suite = ["eval", "--policy", "oracle", "--suite", "blank-image", "--limit", 1, "--json"]
    assert run(*suite, "--observe", "image").data["info"]["mazes"] == "blank-image, but observe=image"
    assert run(*suite, "--observe", "blank").data["info"]["mazes"] == "blank-image"


def test_a_report_says_of_which_role_its_mazes_are(run, tmp_path):
    Split.make("train", 7, 2, max_moves=14).save(tmp_path / "some.json")
    report = run("eval", "--policy", "oracle", "--split", tmp_path / "some.json", "--json").data
    assert report["info"]["mazes"] == "some.json (role train)"


def test_a_callable_that_prints_leaves_json_alone_on_standard_output(run, mine, tmp_path):
    (tmp_path / "chatty_to_eval.py").write_text("def say(messages):\n    print('hm')\n    return 'no'\n")
    result = run("eval", "--policy", "chatty_to_eval:say", "--limit", 1, "--json")
    assert result.data["episodes"] == 1
    assert "hm" in result.err


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("outcomes", [{}], "outcome 0 names no maze"),
        ("outcomes", [], "it holds no outcome"),
        ("info", None, "its info is no dict"),
        ("split_key", None, "its split_key is no str"),
        ("outcomes", {"a": 1}, "its outcomes is no list"),
    ],
)
def test_a_damaged_report_is_named_before_anything_is_compared(run, tmp_path, field, value, message):
    assert run("eval", "--policy", "oracle", "--limit", 2, "--out", tmp_path / "a").code == 0
    path = tmp_path / "a" / "report.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    refused = run("compare", path, path)
    assert refused.code == 2
    assert f"report.json is a damaged report: {message}" in refused.err
