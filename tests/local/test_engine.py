"""Does the engine say what the stock model says, whatever the batch?"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import AutoConfig, Qwen3VLForConditionalGeneration

from visgym_maze_skyrl.local.engine import Engine, Request
from visgym_maze_skyrl.local.sampling import FORBIDDEN, forbidden_tokens

pytestmark = pytest.mark.train


def request(name, history, *, max_tokens=5, temperature=1.0, **options):
    ids, pictures = history
    return Request(name, list(ids), list(pictures), max_tokens, temperature, **options)


def log_probs(logits, ids, forbidden, temperature):
    """Log-probability of each token but the first."""
    table = (logits[:-1] / temperature).masked_fill(forbidden, -torch.inf).log_softmax(-1)
    return table.gather(-1, torch.tensor(ids[1:])[:, None]).squeeze(-1)


def grow(old, sample, observation, end):
    """The next request of a conversation after a sample and an observation."""
    closing = [] if sample.ids[-1] == end else [end]
    return replace(
        old,
        ids=[*old.ids, *sample.ids, *closing, *observation[0]],
        pictures=[*old.pictures, *observation[1]],
    )


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_cached_log_probs_equal_those_of_a_full_pass(
    engine, load, tokenizer, stock_logits, openings, observation, temperature
):
    stock = load()
    forbidden = forbidden_tokens(tokenizer, stock.config.text_config.vocab_size)
    lengths = [2, 7, 4, 1, 5]
    waiting = [
        request(f"c{i}", opening, max_tokens=n, temperature=temperature)
        for i, (opening, n) in enumerate(zip(openings, lengths, strict=True))
    ]
    worst = 0.0
    for turn in range(5):
        samples = engine.generate(waiting)
        for asked, sample in zip(waiting, samples, strict=True):
            ids = [*asked.ids, *sample.ids]
            logits = stock_logits(stock, ids, asked.pictures)
            expected = log_probs(logits, ids, forbidden, temperature)
            expected = expected[-len(sample.ids) :]
            worst = max(worst, float((torch.tensor(sample.logprobs) - expected).abs().max()))
        grown = [
            grow(asked, sample, observation, tokenizer.eos_token_id)
            for asked, sample in zip(waiting, samples, strict=True)
        ]
        # Another order every turn, one conversation fewer on the third, and all but two in the end.
        waiting = grown[::-1] if turn != 2 else grown[1:]
        waiting = waiting[:2] if turn == 3 else waiting
    assert worst <= 1e-4


def test_models_that_share_keys_among_heads(folder, tokenizer, stock_logits, openings, observation):
    config = AutoConfig.from_pretrained(folder)
    config.text_config.num_key_value_heads = 1
    torch.manual_seed(0)
    model = Qwen3VLForConditionalGeneration(config).eval()
    engine = Engine(model, tokenizer)
    asked = request("c", openings[0])
    for _ in range(3):
        (sample,) = engine.generate([asked])
        ids = [*asked.ids, *sample.ids]
        logits = stock_logits(model, ids, asked.pictures)
        forbidden = forbidden_tokens(tokenizer, logits.shape[-1])
        expected = log_probs(logits, ids, forbidden, 1.0)[-len(sample.ids) :]
        assert sample.logprobs == pytest.approx(expected.tolist(), abs=1e-4)
        asked = grow(asked, sample, observation, tokenizer.eos_token_id)


def test_a_sample_does_not_depend_on_its_batch(engine, load, tokenizer, openings):
    requests = [request(f"c{i}", opening) for i, opening in enumerate(openings)]
    together = engine.generate(requests)
    other = Engine(load(), tokenizer, seed=3)
    alone = [other.generate([r])[0] for r in reversed(requests)][::-1]
    assert [s.ids for s in alone] == [s.ids for s in together]
    assert [s.ids for s in Engine(load(), tokenizer, seed=4).generate(requests)] != [s.ids for s in together]


def test_a_restored_engine_samples_the_same(engine, load, tokenizer, openings):
    requests = [request(f"c{i}", opening) for i, opening in enumerate(openings)]
    first = engine.generate(requests)
    engine.load_weights(engine.model.state_dict())
    second = engine.generate(requests)
    assert [s.ids for s in first] != [s.ids for s in second]
    resumed = Engine(load(), tokenizer)
    resumed.load_state_dict(engine.state_dict())
    assert [s.ids for s in resumed.generate(requests)] == [s.ids for s in second]


def test_a_history_that_changed_is_read_afresh(engine, load, tokenizer, openings):
    engine.generate([request("c", openings[0])])
    changed = request("c", openings[3], temperature=0.0)
    fresh = Engine(load(), tokenizer).generate([changed])[0]
    assert engine.generate([changed])[0].ids == fresh.ids


def test_dropped_sessions_come_back(load, tokenizer, openings, observation):
    small, large = Engine(load(), tokenizer, max_sessions=2), Engine(load(), tokenizer)
    waiting = [request(f"c{i}", opening) for i, opening in enumerate(openings)]
    for _ in range(3):
        samples = small.generate(waiting)
        assert [s.ids for s in samples] == [s.ids for s in large.generate(waiting)]
        waiting = [
            grow(asked, sample, observation, tokenizer.eos_token_id)
            for asked, sample in zip(waiting, samples, strict=True)
        ]


def test_the_picture_is_seen(engine, openings):
    ids, pictures = openings[0]
    shown = request("a", (ids, pictures), temperature=0.0)
    swapped = request("b", (ids, openings[1][1]), temperature=0.0)
    one, two = engine.generate([shown, swapped])
    assert abs(one.logprobs[0] - two.logprobs[0]) > 1e-3


def test_forbidden_tokens_never_appear(engine, tokenizer, openings):
    vocabulary = tokenizer.get_vocab()
    banned = {vocabulary[token] for token in FORBIDDEN if token in vocabulary}
    with torch.no_grad():  # a model that wants nothing else
        head = engine.model.lm_head.weight
        head[sorted(banned)] = 5 * head.abs().max() * head[sorted(banned)].sign()
    requests = [request(f"c{i}", openings[i % 5], max_tokens=40, temperature=2.0) for i in range(64)]
    drawn = {token for sample in engine.generate(requests) for token in sample.ids}
    assert len(banned) == 6
    assert not drawn & banned
    assert len(drawn) > 50


def test_greedy_equals_top_k_one_and_a_tiny_nucleus(engine, openings):
    greedy, top_k, top_p = engine.generate(
        [
            request("a", openings[0], temperature=0.0),
            request("b", openings[0], top_k=1),
            request("c", openings[0], top_p=1e-6),
        ]
    )
    assert greedy.ids == top_k.ids == top_p.ids
    assert greedy.logprobs == pytest.approx(top_p.logprobs, abs=1e-5)


def test_an_answer_stops_at_the_end_token_or_at_its_length(engine, tokenizer, openings):
    with torch.no_grad():
        engine.model.lm_head.weight.zero_()  # all tokens alike
    requests = [request(f"c{i}", openings[0], max_tokens=200) for i in range(24)]
    reasons = set()
    for sample in engine.generate(requests):
        ended = sample.ids[-1] == tokenizer.eos_token_id
        assert tokenizer.eos_token_id not in sample.ids[:-1]
        assert sample.stop_reason == ("stop" if ended else "length")
        assert ended or len(sample.ids) == 200
        assert len(sample.logprobs) == len(sample.ids)
        reasons.add(sample.stop_reason)
    assert reasons == {"stop", "length"}


def test_bad_requests_are_refused(engine, openings):
    ids, pictures = openings[0]
    with pytest.raises(ValueError, match="only once"):
        engine.generate([request("a", openings[0]), request("a", openings[1])])
    with pytest.raises(ValueError, match="16 image tokens, its 2 new pictures need 32"):
        engine.generate([request("a", (ids, pictures * 2))])
    with pytest.raises(ValueError, match="temperature must be 0 or more, got -1"):
        request("a", openings[0], temperature=-1.0)
    with pytest.raises(ValueError, match="max_tokens must be at least 1, got 0"):
        request("a", openings[0], max_tokens=0)
