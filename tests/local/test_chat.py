"""Do grown histories equal what the chat template and the stock model make of the whole?"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from visgym_maze import MazeDialogue, Split, demonstrate, picture_urls
from visgym_maze_skyrl.local.chat import ChatCodec
from visgym_maze_skyrl.local.lessons import collate, lesson_of
from visgym_maze_skyrl.local.pictures import PictureReader
from visgym_maze_skyrl.local.positions import rope_positions

pytestmark = pytest.mark.train
OPTIONS = {"prompt": "brief", "style": "patch16"}


@pytest.fixture(scope="module")
def episodes():
    levels = [*Split.make("train", 7, 2, max_moves=14), *Split.make("train", 9, 1, max_moves=14)]
    return list(demonstrate(levels, detours=0.3, rng=5, **OPTIONS))


def grown(codec, dialogue):
    """Tokens of an episode as a sampling loop gathers them: piece by piece."""
    ids, pictures = codec.first(dialogue.messages[:1])
    for i in range(1, len(dialogue.messages), 2):
        ids = ids + codec.answer(dialogue.messages[i]["content"])
        if following := dialogue.messages[i + 1 : i + 2]:
            more, seen = codec.later(following)
            ids, pictures = ids + more, pictures + seen
    return ids, pictures


def expanded(codec, ids, pictures):
    """Repeat each image token as often as its picture has visual tokens."""
    image, waiting = codec.tokenizer.convert_tokens_to_ids("<|image_pad|>"), iter(pictures)
    return [
        t for token in ids for t in [token] * (codec.reader.tokens(next(waiting)) if token == image else 1)
    ]


def test_a_grown_history_equals_the_rendered_transcript(codec, episodes):
    for dialogue in episodes:
        ids, pictures = grown(codec, dialogue)
        rendered = codec.tokenizer.apply_chat_template(dialogue.messages, tokenize=True, return_dict=False)
        newline = codec.tokenizer.encode("\n")
        assert ids + newline == expanded(codec, rendered, pictures)
        assert [p.key for p in pictures] == [codec.reader(u).key for u in picture_urls(dialogue.messages)]


def test_a_lesson_has_the_tokens_of_the_sampling_loop(codec, episodes):
    lessons = [lesson_of(dialogue, codec) for dialogue in episodes]
    image = codec.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    batch = collate(lessons, image, 2, codec.end_id)
    for row, dialogue in enumerate(episodes):
        ids, _ = grown(codec, dialogue)
        assert batch.ids[row, : len(ids)].tolist() == ids
        answers = [t for turn in dialogue.turns for t in codec.answer(turn.text)]
        assert batch.ids[row][batch.learned[row]].tolist() == answers
    pictures = [p for lesson in lessons for turn in lesson for p in turn.pictures]
    assert batch.grid_thw.tolist() == [list(p.grid) for p in pictures]
    assert len(batch.pixel_values) == sum(len(p.pixel_values) for p in pictures)


def test_positions_equal_the_models(model, codec, episodes):
    for dialogue in episodes:
        ids, pictures = grown(codec, dialogue)
        tokens = torch.tensor([ids])
        kinds = (tokens == model.config.image_token_id).int()
        expected, _ = model.model.get_rope_index(
            tokens, kinds, image_grid_thw=torch.cat([p.grid_thw for p in pictures])
        )
        first = len(codec.first(dialogue.messages[:1])[0])
        start, grids = 0, iter([p.grid for p in pictures])
        parts = []
        for part in (ids[:first], ids[first:]):
            positions, start = rope_positions(part, grids, start, model.config.image_token_id, 2)
            parts.append(torch.from_numpy(positions))
        assert torch.equal(torch.cat(parts, dim=1), expected[:, 0])


def test_a_reader_remembers_only_the_latest(folder):
    dialogue = MazeDialogue(Split.make("train", 7, 1)[0], **OPTIONS)
    uris = picture_urls(dialogue.reset())
    for word in ("left", "right", "up", "down"):
        uris += picture_urls(dialogue.step(f"<action>{word}</action>").messages)
    first, *_, last = dict.fromkeys(uris)
    reader = PictureReader(folder, capacity=1)
    picture = reader(first)
    assert reader(first) is picture
    reader(last)
    again = reader(first)
    assert again is not picture
    assert again.key == picture.key
    assert torch.equal(again.pixel_values, picture.pixel_values)


@pytest.mark.parametrize(
    "uri", ["https://a.example/maze.png", "data:image/png;base64,AAAA", "data:image/png,x"]
)
def test_a_url_without_a_picture_is_refused(codec, uri):
    with pytest.raises(ValueError, match="data"):
        codec.reader(uri)


def test_a_template_that_ends_answers_otherwise_is_refused(codec):
    foreign = SimpleNamespace(
        eos_token="<|im_end|>",
        get_vocab=codec.tokenizer.get_vocab,
        apply_chat_template=lambda messages, **_: "".join(m["content"] for m in messages),
    )
    with pytest.raises(ValueError, match=r"does not end an answer with '<\|im_end\|>'"):
        ChatCodec(foreign, codec.reader)  # type: ignore[arg-type]
