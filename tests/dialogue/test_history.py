import pytest

from visgym_maze import MazeDialogue, Message, PromptTemplate, generate, picture_urls

PROMPT = PromptTemplate(first="task", later="turn $turn", system="rules", omitted="(gone)")


def play(turns: int, max_turns: int = 15, **options: object) -> MazeDialogue:
    dialogue = MazeDialogue(generate(7, rng=0), prompt=PROMPT, max_turns=max_turns, **options)  # type: ignore[arg-type]
    dialogue.reset()
    for number in range(turns):
        dialogue.step(f"answer {number + 1}")
    return dialogue


def words(messages: list[Message]) -> list[str]:
    texts: list[str] = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts.append("|".join(part.get("text", "<picture>") for part in parts))
    return texts


def test_everything_is_kept_by_default() -> None:
    assert words(play(2).conversation()) == [
        "rules",
        "task|<picture>",
        "answer 1",
        "turn 1|<picture>",
        "answer 2",
        "turn 2|<picture>",
    ]


def test_the_last_answers_stay_with_what_follows_them() -> None:
    dialogue = play(4)
    assert words(dialogue.conversation(history=2)) == [
        "rules",
        "task|<picture>",
        "answer 3",
        "turn 3|<picture>",
        "answer 4",
        "turn 4|<picture>",
    ]
    assert dialogue.conversation(history=9) == dialogue.conversation()


def test_a_finished_episode_ends_with_its_last_answer() -> None:
    dialogue = play(3, max_turns=3)
    assert words(dialogue.conversation(history=1)) == ["rules", "task|<picture>", "answer 3"]
    assert words(dialogue.conversation(history=2))[2:] == ["answer 2", "turn 2|<picture>", "answer 3"]


def test_without_history_the_newest_picture_goes_with_the_task() -> None:
    dialogue = MazeDialogue(generate(7, rng=0), prompt=PROMPT)
    dialogue.reset()
    before = dialogue.conversation(history=0)
    for word in ("left", "right", "up", "down"):
        dialogue.step(f"<action>{word}</action>")
    after = dialogue.conversation(history=0)
    assert words(after) == ["rules", "task|<picture>"]
    assert picture_urls(after) == picture_urls(dialogue.messages)[-1:]
    assert (picture_urls(after) == picture_urls(before)) == (dialogue.cell == dialogue.layout.start)


def test_only_the_newest_pictures_stay() -> None:
    dialogue = play(3)
    shortened = dialogue.conversation(images=2)
    assert words(shortened) == [
        "rules",
        "task\n(gone)",
        "answer 1",
        "turn 1\n(gone)",
        "answer 2",
        "turn 2|<picture>",
        "answer 3",
        "turn 3|<picture>",
    ]
    assert picture_urls(shortened) == picture_urls(dialogue.messages)[-2:]
    assert words(dialogue.conversation(history=1, images=1)) == [
        "rules",
        "task\n(gone)",
        "answer 3",
        "turn 3|<picture>",
    ]


def test_text_views_have_no_pictures_to_leave_out() -> None:
    dialogue = play(3, observe="text")
    assert dialogue.conversation(images=1) == dialogue.conversation()


@pytest.mark.parametrize(("options", "message"), [({"history": -1}, "history"), ({"images": 0}, "images")])
def test_bad_limits_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"{message} must be at least"):
        play(1).conversation(**options)


def test_before_reset_there_is_no_conversation() -> None:
    assert MazeDialogue(generate(7, rng=0)).conversation(history=0) == []
