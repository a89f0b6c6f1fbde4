"""How much of the past does a policy get to read?"""

from __future__ import annotations

from collections.abc import Sequence

from visgym_maze.dialogue.content import Message, Shown, user_message


def assemble(
    system: str,
    shown: Sequence[Shown],
    answers: Sequence[str],
    *,
    history: int | None = None,
    images: int | None = None,
    omitted: str = "",
) -> list[Message]:
    """Make a conversation from what was shown and answered.

    Args:
        system: Text of the system message; empty for none.
        shown: What each user message shows, the task first.
        answers: The answers; the first follows the first user message, and so on. Without a last
            user message the episode is over.
        history: Keep the task and the last ``history`` answers with what follows each; None keeps
            everything. With 0 the newest picture goes with the task itself.
        images: Keep the pictures of the last ``images`` user messages; None keeps all.
        omitted: Text that stands for a picture left out.

    Returns:
        Fresh messages, which share nothing that can be changed.

    Raises:
        ValueError: If ``history`` is negative, or ``images`` below 1.
    """
    if history is not None and history < 0:
        raise ValueError(f"history must be at least 0, got {history}")
    if images is not None:
        if images < 1:
            raise ValueError(f"images must be at least 1, or the newest picture is lost; got {images}")
        faded = len(shown) - images
        shown = [_without_picture(one, omitted) if i < faded else one for i, one in enumerate(shown)]
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    if history == 0:
        newest = shown[-1]
        return [*messages, user_message(Shown(shown[0].text, newest.scene, newest.url))]
    messages.append(user_message(shown[0]))
    first = 0 if history is None else max(0, len(answers) - history)
    for number in range(first, len(answers)):
        messages.append({"role": "assistant", "content": answers[number]})
        if number + 1 < len(shown):
            messages.append(user_message(shown[number + 1]))
    return messages


def _without_picture(shown: Shown, omitted: str) -> Shown:
    if shown.url is None:
        return shown
    return Shown(f"{shown.text}\n{omitted}" if shown.text else omitted, shown.scene, None)
