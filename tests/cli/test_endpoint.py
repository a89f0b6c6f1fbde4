"""Any OpenAI-compatible endpoint: asked with pictures, patiently, and never twice; its key goes nowhere."""

import base64
import json
import logging
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from chat_server import ChatServer, completion, hang_up, oracle, status

from visgym_maze import MazeDialogue, OraclePolicy, Split, StopReason, evaluate, picture_urls
from visgym_maze.dialogue.parsing import MAX_LENGTH
from visgym_maze.endpoint import AnswerTooLongError, EndpointError, EndpointPolicy, Sampling
from visgym_maze.suites import suite_named

MAZES = Split.make("eval", 7, 4, max_moves=14)
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server():
    server = ChatServer()
    yield server
    server.close()


def policy_for(server, **options):
    return EndpointPolicy(server.url, "oracle", **{"backoff": 0.0, **options})


def ask_once(policy):
    dialogue = MazeDialogue(MAZES[0])
    dialogue.reset()
    return policy.act([dialogue])[0]


def test_a_model_that_sees_the_pictures_plays_as_well_as_the_oracle(server):
    levels = suite_named("paper-64").levels[:16]
    report, trajectories = evaluate(policy_for(server), levels, workers=4)
    assert report.successes == 16
    expected = evaluate(OraclePolicy(), levels)[1]
    assert [t.turns for t in trajectories] == [t.turns for t in expected]
    assert report.tokens == {"answers": 4 * 16 * 13, "prompts": 100 * 16 * 13}
    assert report.seconds["answers"] == 16 * 13
    assert 0 < report.seconds["median"] <= report.seconds["p95"]


def test_as_many_are_asked_at_once_as_were_allowed(server):
    server.seconds = 0.02
    evaluate(policy_for(server), [*MAZES, *Split.make("dev", 7, 4, max_moves=14)], workers=3)
    assert server.most_at_once == 3


def test_a_request_says_how_to_sample(server):
    sampling = Sampling(0.7, 32, 5, {"top_p": 0.9, "max_tokens": None, "max_completion_tokens": 64})
    ask_once(policy_for(server, sampling=sampling))
    ((headers, body),) = server.requests
    messages = body.pop("messages")
    assert body == {
        "model": "oracle",
        "temperature": 0.7,
        "seed": 5,
        "top_p": 0.9,
        "max_completion_tokens": 64,
    }
    assert picture_urls(messages)[0].startswith("data:image/png;base64,")
    assert "Authorization" not in headers


def test_a_shortened_history_is_what_is_sent(server):
    evaluate(policy_for(server, history=1, images=1), MAZES[:1])
    last = server.requests[-1][1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert len(picture_urls(last)) == 1


def test_what_may_pass_is_tried_again(server):
    server.faults.extend([status(500), status(429, Retry_After="0"), hang_up, status(503)])
    report, (trajectory,) = evaluate(policy_for(server), MAZES[:1])
    assert report.successes == 1
    assert trajectory.info["retries"] == 4
    assert len(server.requests) == 4 + len(trajectory.turns)


def test_a_server_that_goes_on_failing_is_given_up(server):
    server.faults.extend([status(503, "overloaded")] * 3)
    with pytest.raises(EndpointError, match="failed 3 times, at last with status 503: overloaded"):
        ask_once(policy_for(server, retries=2))
    assert len(server.requests) == 3


def test_a_slow_server_is_given_up(server):
    server.seconds = 0.5
    with pytest.raises(EndpointError, match=r"failed 2 times, at last with (Read|Connect)Timeout"):
        ask_once(policy_for(server, retries=1, timeout=0.05))


def test_the_server_says_how_long_to_wait_and_else_the_pauses_double(server, monkeypatch):
    pauses = []
    clock = SimpleNamespace(sleep=pauses.append, perf_counter=time.perf_counter)
    monkeypatch.setattr("visgym_maze.endpoint.time", clock)
    server.faults.extend([status(429, Retry_After="7"), status(500), status(500), status(500), status(500)])
    ask_once(policy_for(server, backoff=2.0))
    assert pauses[0] == 7.0
    # The first pause that is our own is the second one, so it begins at twice the backoff.
    for pause, longest in zip(pauses[1:], (4.0, 8.0, 16.0, 32.0), strict=True):
        assert longest / 2 <= pause <= longest


@pytest.mark.parametrize(
    ("code", "hint"),
    [(400, "status 400: no"), (401, "is the key right"), (404, "often it ends in /v1"), (422, "status 422")],
)
def test_what_can_not_pass_is_not_tried_again(server, code, hint):
    server.faults.append(status(code, "no"))
    with pytest.raises(EndpointError, match=hint):
        ask_once(policy_for(server))
    assert len(server.requests) == 1


def cut_short(handler):
    """A fault: the connection ends in the middle of the answer."""
    data = json.dumps(completion("<action>stop</action>")).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[:40])
    handler.close_connection = True


BROKEN = [
    status(200, "<html>"),
    status(200, json.dumps(completion("<action>stop</action>"))[:40]),
    status(200, "nope"),
    status(200, ""),
    status(200, "\0"),
    status(200, "[" * 100_000),
    status(200, "[]"),
    status(200, "{}"),
    status(200, {"error": {"message": "overloaded"}}),
    status(200, {"choices": []}),
    status(200, {"choices": None}),
    status(200, {"choices": [{"message": None}]}),
    status(200, {"choices": [{"message": {"content": [1]}}]}),
    cut_short,
]


@pytest.mark.parametrize("fault", BROKEN)
def test_a_response_without_a_completion_may_pass_and_is_asked_for_again(server, fault):
    server.faults.append(fault)
    told = []
    report, (trajectory,) = evaluate(policy_for(server, on_retry=told.append), MAZES[:1])
    assert report.successes == 1
    assert trajectory.info["retries"] == 1
    (line,) = told
    assert line.startswith(f"{server.url}: ")
    assert line.endswith("asked again in 0.0 s (1 of 5)")


def test_a_server_that_never_completes_is_given_up(server):
    server.faults.extend([status(200, "<html>")] * 3)
    with pytest.raises(EndpointError, match="failed 3 times, at last with status 200 and no chat completion"):
        ask_once(policy_for(server, retries=2))
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [200, 400, 500])
@pytest.mark.parametrize("body", [completion("x" * 10_000_000), "y" * 10_000_000])
def test_a_huge_response_is_not_read_to_its_end(server, code, body):
    server.faults.append(status(code, body))
    kind, named = (
        (AnswerTooLongError, "more than 4,194,304 bytes") if code == 200 else (EndpointError, "status")
    )
    with pytest.raises(kind, match=named) as refused:
        ask_once(policy_for(server, retries=0))
    assert len(str(refused.value)) < 600
    assert len(server.requests) == 1


def test_a_huge_response_is_counted_by_its_reason(server):
    server.faults.append(status(200, completion("x" * 10_000_000)))
    report, _ = evaluate(policy_for(server), MAZES, workers=1, on_error="lose")
    assert report.errors == {"AnswerTooLongError": 1}
    assert report.successes == 3


def test_an_answer_that_is_longer_than_what_is_parsed_is_cut_and_counted(server):
    server.answer = lambda messages: "x" * 1_000_000
    report, (trajectory,) = evaluate(policy_for(server, images=1, history=0), MAZES[:1], max_turns=2)
    assert report.parse_failures == {"too_long": 2}
    assert {len(turn.text) for turn in trajectory.turns} == {MAX_LENGTH + 1}


def test_a_response_that_drips_in_is_given_up(server):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.02)
        handler.close_connection = True

    server.faults.append(drip)
    with pytest.raises(EndpointError, match=r"ReadTimeout: no complete answer within 0\.1 s"):
        ask_once(policy_for(server, retries=0, timeout=0.1))


@pytest.mark.parametrize("count", [-1, "7", 7.5, float("nan"), float("inf"), True, None, [7], 10**30])
def test_tokens_that_can_not_be_counted_are_unknown(server, count):
    for _ in range(2):
        usage = {"prompt_tokens": 5, "completion_tokens": count}
        server.faults.append(status(200, {**completion("<action>up</action>"), "usage": usage}))
    report, _ = evaluate(policy_for(server), MAZES[:1], max_turns=2)
    assert report.tokens == {"prompts": 10}


@pytest.mark.parametrize("usage", [None, [], "many", 3])
def test_a_usage_that_is_none_costs_no_answer(server, usage):
    server.faults.append(status(200, {**completion("<action>stop</action>"), "usage": usage}))
    assert evaluate(policy_for(server), MAZES[:1])[0].tokens == {}


def test_the_terminal_says_that_a_silent_server_is_asked_again(server, run, tmp_path):
    server.hold_after = 0
    arguments = ["eval", "--endpoint", server.url, "--model", "m", "--out", tmp_path, "--limit", 1]
    result = run(*arguments, "--timeout", 0.1, "--retries", 2)
    assert result.code == 1
    again = [line for line in result.err.splitlines() if "asked again in" in line]
    assert [line.rpartition("(")[2] for line in again] == ["1 of 2)", "2 of 2)"]
    assert all("no complete answer within 0.1 s" in line for line in again)


def test_a_server_can_not_steer_the_terminal(server, run, tmp_path):
    server.faults.extend(
        [status(500, "\x1b[2J\r\nerror: fine", Retry_After="0"), status(400, "\x1b]0;title\x07")]
    )
    arguments = ["eval", "--endpoint", server.url, "--model", "m", "--out", tmp_path, "--limit", 1]
    result = run(*arguments)
    assert result.code == 1
    assert "\\x1b[2J\\r\\nerror: fine" in result.err
    assert not set("\x1b\x07\r") & set(result.err)


def test_an_answer_without_text_is_an_empty_answer(server):
    server.faults.append(status(200, completion(None)))
    assert ask_once(policy_for(server)) == ""


def test_a_lost_episode_is_lost_alone_and_told(server):
    server.faults.append(status(400, "context too long"))
    report, trajectories = evaluate(policy_for(server), MAZES, workers=1, on_error="lose")
    assert [t.stop_reason for t in trajectories] == [StopReason.ERROR, *[StopReason.GOAL] * 3]
    assert "context too long" in trajectories[0].info["error"]
    assert report.errors == {"EndpointError": 1}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8000", "such as http://localhost:8000/v1, got 'localhost:8000'"),
        ("http://user:pass@host/v1", "may hold no user, password or query"),
        ("user:pass@host/v1", "may hold no user, password or query"),
        ("https://host/v1?api-key=secret", "may hold no user, password or query"),
    ],
)
def test_a_url_that_can_not_be_shown_is_refused(url, message):
    with pytest.raises(ValueError, match=message) as refused:
        EndpointPolicy(url, "m")
    assert "pass@" not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}, {"backoff": -1.0}])
def test_bad_numbers_are_refused(options):
    with pytest.raises(ValueError, match="timeout must be above 0"):
        EndpointPolicy("http://localhost/v1", "m", **options)


def test_a_key_given_in_place_of_its_variable_is_not_repeated(monkeypatch):
    with pytest.raises(ValueError, match="variable of that name is not set") as refused:
        EndpointPolicy("http://localhost/v1", "m", key_variable=KEY)
    assert KEY not in str(refused.value)
    with pytest.raises(ValueError, match="'MAZE_KEY' is not set"):
        EndpointPolicy("http://localhost/v1", "m", key_variable="MAZE_KEY")
    monkeypatch.setenv("MAZE_KEY", "a\u00e9b")
    with pytest.raises(ValueError, match="not printable ASCII"):
        EndpointPolicy("http://localhost/v1", "m", key_variable="MAZE_KEY")


def test_a_placeholder_for_a_key_changes_no_answer(server, monkeypatch):
    monkeypatch.setenv("MAZE_KEY", "action")
    report, _ = evaluate(policy_for(server, key_variable="MAZE_KEY"), MAZES[:1])
    assert report.successes == 1


@pytest.mark.parametrize("before", range(250, 300, 7))
def test_no_half_of_a_key_is_left_where_a_message_is_cut(server, monkeypatch, before):
    monkeypatch.setenv("MAZE_KEY", KEY)
    server.faults.append(status(400, "x" * before + KEY + "y" * 100))
    with pytest.raises(EndpointError) as refused:
        ask_once(policy_for(server, key_variable="MAZE_KEY"))
    assert KEY[:6] not in str(refused.value)


def test_the_key_reaches_the_server_and_nothing_else(server, run, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("MAZE_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    # A server that repeats the key, in answers as well as in errors.
    server.answer = lambda messages: f"<think>{KEY}</think>{oracle(messages)}"
    server.faults.append(status(500, f"bad key {KEY}", Retry_After="0"))
    arguments = ["eval", "--endpoint", server.url, "--model", "m", "--key-env", "MAZE_KEY", "--limit", 3]
    good = run(*arguments, "--out", tmp_path / "good")
    assert good.code == 0
    server.faults.extend([status(401, f"who is {KEY}?")] * 3)
    bad = run(*arguments, "--out", tmp_path / "bad")
    assert bad.code == 1
    assert "(key)" in bad.err
    lost = run(*arguments, "--out", tmp_path / "lost", "--on-error", "lose", "--retries", 0)
    assert lost.code == 0
    assert {headers["Authorization"] for headers, _ in server.requests} == {f"Bearer {KEY}"}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 8
    for path in written:
        assert KEY.encode() not in path.read_bytes(), path
    for result in (good, bad, lost):
        assert KEY not in result.out + result.err
    assert "POST" in caplog.text  # the client's own log at its most talkative
    assert KEY not in caplog.text


def stopped_once_held(server, arguments, signal_number):
    """Run the command until all its three threads wait for an answer, then send a signal."""
    program = [sys.executable, "-c", "from visgym_maze.cli import main; main()", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while len(server.requests) < server.hold_after + 3:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        os.kill(process.pid, signal_number)
        _, errors = process.communicate()
    return process.returncode, errors.decode()


def test_ctrl_c_ends_at_once_and_says_how_to_go_on(server, tmp_path):
    server.hold_after = 45
    arguments = [
        "eval",
        "--endpoint",
        server.url,
        "--model",
        "oracle",
        "--out",
        str(tmp_path),
        "--limit",
        "6",
    ]
    ended, errors = stopped_once_held(server, [*arguments, "--concurrency", "3"], signal.SIGINT)
    assert ended == 130
    assert "stopped; finished episodes are kept: the same command goes on" in errors
    assert "Traceback" not in errors
    assert 0 < len((tmp_path / "trajectories.jsonl").read_text().splitlines()) < 6


def test_a_killed_evaluation_goes_on_and_asks_for_the_rest_alone(server, tmp_path, run):
    server.hold_after = 75
    out = tmp_path / "out"
    arguments = ["eval", "--endpoint", server.url, "--model", "oracle", "--out", str(out), "--limit", "12"]
    arguments += ["--concurrency", "3"]
    ended, _ = stopped_once_held(server, arguments, signal.SIGKILL)
    assert ended == -signal.SIGKILL
    record = out / "trajectories.jsonl"
    lines = record.read_text().splitlines()
    assert 0 < len(lines) < 12
    with record.open("a") as file:
        file.write(lines[0][:100])  # a line that the kill has torn
    finished = {json.loads(line)["group"] for line in lines}
    levels = suite_named("paper-64").levels[:12]
    pictures = {}
    for number, level in enumerate(levels):
        pictures[number] = picture_urls(MazeDialogue(level).reset())[0]

    server.hold_after = None
    server.asked.clear()
    result = run(*arguments, "--json")
    assert f"{len(finished)} of 12 episodes are there already" in result.err
    assert result.data["successes"] == 12
    # The oracle needs 13 answers for each of these mazes.
    assert server.asked == {pictures[n]: 13 for n in range(12) if n not in finished}
    assert record.read_text().splitlines()[: len(lines)] == lines

    server.asked.clear()
    assert run(*arguments, "--json").data["successes"] == 12
    assert not server.asked


def test_an_evaluation_with_other_settings_does_not_mix_with_it(server, tmp_path, run):
    arguments = ["eval", "--endpoint", server.url, "--model", "oracle", "--out", tmp_path, "--limit", 1]
    assert run(*arguments).code == 0
    for change, message in (
        (["--temperature", "1"], '"temperature": 0.0'),
        (["--prompt", "brief"], '"max_turns": 15}'),
        (["--model", "other"], 'policy "oracle", this one "other"'),
        (["--limit", "2"], "has split_key"),
    ):
        result = run(*arguments, *change)
        assert result.code == 2
        assert message in result.err
        assert "take another --out" in result.err


def test_an_endpoint_needs_a_folder_and_a_model(server, run, tmp_path):
    result = run("eval", "--endpoint", server.url, "--model", "m")
    assert result.code == 2
    assert "--endpoint needs --out" in result.err
    result = run("eval", "--endpoint", server.url, "--out", tmp_path)
    assert "--endpoint needs --model NAME" in result.err
    result = run("eval", "--endpoint", server.url, "--model", "m", "--out", tmp_path, "--request", "[1]")
    assert "--request is a JSON object" in result.err


@pytest.mark.parametrize("wait", ["nan", "-5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_wait_that_is_no_number_of_seconds_is_not_waited_for(server, wait):
    server.faults.append(status(429, Retry_After=wait))
    assert evaluate(policy_for(server), MAZES[:1])[0].successes == 1


def test_half_a_surrogate_pair_costs_no_episode(server, tmp_path):
    answer = server.answer
    server.answer = lambda messages: "\ud800 " + answer(messages)
    report, (trajectory,) = evaluate(policy_for(server), MAZES[:1], record=tmp_path / "episodes.jsonl")
    assert report.successes == 1
    assert all(turn.text.startswith("? ") for turn in trajectory.turns)


@pytest.mark.parametrize("spell", [str, lambda key: json.dumps(key)[1:-1], quote, lambda key: b64(key)])
def test_a_key_is_hidden_however_a_server_spells_it(server, monkeypatch, spell):
    key = 'sk"se/cret+012\\345'
    monkeypatch.setenv("MAZE_KEY", key)
    server.faults.append(status(401, f"bad key {spell(key)}"))
    with pytest.raises(EndpointError, match=r"bad key \(key\)") as error:
        ask_once(policy_for(server, key_variable="MAZE_KEY"))
    assert spell(key) not in str(error.value)


def b64(text):
    return base64.b64encode(text.encode()).decode()
