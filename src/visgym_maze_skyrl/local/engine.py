"""How do many conversations sample their answers at once, on one model, without reading twice?

The keys and values of a conversation stay from turn to turn; a call feeds what is new of each and
then decodes all unfinished answers side by side.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase, Qwen3VLForConditionalGeneration

from visgym_maze_skyrl.local.adapters import AdapterSlot
from visgym_maze_skyrl.local.cache import KeyValueRows
from visgym_maze_skyrl.local.chat import token_id
from visgym_maze_skyrl.local.fast import speed_up
from visgym_maze_skyrl.local.pictures import Picture
from visgym_maze_skyrl.local.positions import rope_positions
from visgym_maze_skyrl.local.sampling import draw, forbidden_tokens, uniforms

_PICTURES_AT_ONCE = 256
_PICTURES_KEPT = 4096


@dataclass(frozen=True)
class Request:
    """One conversation that waits for an answer.

    Attributes:
        session: Names the conversation.
        ids: Its whole history: all earlier prompts and samples as they were, and the new
            observation, image tokens already repeated.
        pictures: All pictures of the history, in order.
        max_tokens: Longest answer, at least 1.
        temperature: Above 0, or 0 for the likeliest token.
        top_p: Sample from the smallest set of tokens with this probability; 1 for all.
        top_k: Sample from this many tokens; below 1 for all.
    """

    session: str
    ids: list[int]
    pictures: list[Picture]
    max_tokens: int
    temperature: float
    top_p: float = 1.0
    top_k: int = -1

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens}")
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be 0 or more, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if not self.ids:
            raise ValueError(f"the history of session {self.session!r} is empty")


@dataclass
class Sample:
    """An answer.

    Attributes:
        ids: Its tokens; the last one is the end token if it was sampled.
        logprobs: Their log-probabilities at the sampling temperature (1 for greedy), among the
            tokens that may be sampled.
        stop_reason: ``"stop"`` or ``"length"``.
    """

    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    stop_reason: str = "length"


@dataclass
class _Session:
    """What is in the cache of a conversation."""

    row: int = -1
    ids: list[int] = field(default_factory=list[int])
    pictures: list[str] = field(default_factory=list[str])
    position: int = 0

    def begins(self, request: Request) -> bool:
        """Whether the cached part is the beginning of the request, with something left to feed."""
        fed, seen = len(self.ids), len(self.pictures)
        return (
            fed < len(request.ids)
            and request.ids[:fed] == self.ids
            and [p.key for p in request.pictures[:seen]] == self.pictures
        )

    def restart(self) -> None:
        """Nothing of what the row holds is of use."""
        self.ids, self.pictures, self.position = [], [], 0


_Features = list[torch.Tensor]
"""What the text model gets of a picture: its tokens' embeddings, then those for its first layers."""


class Engine:
    """Samples answers with any Qwen3-VL model.

    A sample depends on the seed, the number of weight updates so far, the session's name and the
    length of its history; not on what else is in the batch.

    Args:
        model: The model; put into evaluation mode, and its vision tower sped up.
        tokenizer: Its tokenizer, whose ``eos_token`` ends an answer.
        max_sessions: Most conversations in the cache; the least recently used ones are dropped.
        seed: Seed of all sampling.
    """

    def __init__(
        self,
        model: Qwen3VLForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_sessions: int = 256,
        seed: int = 0,
    ) -> None:
        if max_sessions < 1:
            raise ValueError(f"max_sessions must be at least 1, got {max_sessions}")
        speed_up(model)
        self.model = model.eval()
        self.max_sessions = max_sessions
        self._image_id: int = model.config.image_token_id
        self._merge: int = model.model.visual.spatial_merge_size
        self._end_id = token_id(tokenizer, str(tokenizer.eos_token))
        self._device = model.device
        self._forbidden = forbidden_tokens(tokenizer, model.lm_head.out_features).to(self._device)
        text = model.model.language_model.config
        heads = text.num_key_value_heads or text.num_attention_heads
        self._cache = KeyValueRows(text.num_hidden_layers, heads, text.head_dim, model.dtype, self._device)
        self._adapter = AdapterSlot(model)
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._owners: list[_Session | None] = []
        self._features: OrderedDict[str, _Features] = OrderedDict()
        self._seed, self._round = seed, 0

    @torch.inference_mode()
    def generate(self, requests: Sequence[Request]) -> list[Sample]:
        """Answer all requests; sessions must differ within a call.

        Raises:
            ValueError: If a session stands twice, or image tokens and pictures do not match.
        """
        if len({r.session for r in requests}) != len(requests):
            raise ValueError("a session may stand only once in a call")
        samples: list[Sample] = []
        for start in range(0, len(requests), self.max_sessions):
            samples += self._generate(requests[start : start + self.max_sessions])
        return samples

    def release(self, session: str) -> None:
        """Forget a conversation; unknown names are ignored."""
        if (gone := self._sessions.pop(session, None)) is not None:
            self._owners[gone.row] = None

    def clear(self) -> None:
        """Forget all conversations and pictures."""
        self._sessions.clear()
        self._owners.clear()
        self._features.clear()

    def load_adapter(self, folder: str | Path) -> None:
        """Use the base weights plus the PEFT LoRA adapter in ``folder``, instead of any other."""
        self._adapter.load(folder)
        self._weights_changed()

    def load_weights(self, state: Mapping[str, torch.Tensor]) -> None:
        """Copy new base weights in, dropping any adapter.

        Args:
            state: Weights by name; tied ones may be left out.

        Raises:
            RuntimeError: If a name is unknown or a shape differs.
        """
        unknown = sorted(state.keys() - self.model.state_dict().keys())
        if unknown:
            raise RuntimeError(f"this model has no weight {unknown[0]!r}")
        self._adapter.unload()
        self.model.load_state_dict(dict(state), strict=False)
        self._weights_changed()

    def state_dict(self) -> dict[str, int]:
        """What a resumed run needs to sample the same."""
        return {"seed": self._seed, "round": self._round}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue the sampling of another engine; call it after loading weights."""
        self._seed, self._round = state["seed"], state["round"]

    def _weights_changed(self) -> None:
        self._round += 1
        self.clear()

    def _generate(self, requests: Sequence[Request]) -> list[Sample]:
        """Answer at most ``max_sessions`` requests."""
        places = self._place(requests)
        # From here on, number i is the request whose session has row i at first.
        order = sorted(range(len(requests)), key=lambda i: places[i].row)
        waiting = [requests[i] for i in order]
        sessions = [places[i] for i in order]
        samples = [Sample() for _ in waiting]
        settings = _Settings.of(waiting, self._seed, self._round, self._device)
        active = list(range(len(waiting)))
        logits = self._feed(waiting, sessions)
        for step in range(settings.longest):
            ids, logprobs = draw(logits, self._forbidden, *settings.at(active, step))
            for i, token, logprob in zip(active, ids.tolist(), logprobs.tolist(), strict=True):
                samples[i].ids.append(token)
                samples[i].logprobs.append(logprob)
                if token == self._end_id:
                    samples[i].stop_reason = "stop"
            active = [
                i
                for i in active
                if samples[i].stop_reason != "stop" and len(samples[i].ids) < waiting[i].max_tokens
            ]
            if not active:
                break
            self._to_front([sessions[i] for i in active])
            active.sort(key=lambda i: sessions[i].row)
            logits = self._decode([sessions[i] for i in active], [samples[i].ids[-1] for i in active])
        by_request = dict(zip(order, samples, strict=True))
        return [by_request[i] for i in range(len(requests))]

    def _place(self, requests: Sequence[Request]) -> list[_Session]:
        """Find or begin the sessions of some requests, and bring them to the first rows."""
        new: list[_Session] = []
        for request in requests:
            session = self._sessions.get(request.session)
            if session is None:
                session = self._sessions[request.session] = _Session()
                new.append(session)
            elif not session.begins(request):
                session.restart()
            self._sessions.move_to_end(request.session)
        while len(self._sessions) > self.max_sessions:
            self.release(next(iter(self._sessions)))
        free = [row for row, owner in enumerate(self._owners) if owner is None]
        if (missing := len(new) - len(free)) > 0:
            free += range(len(self._owners), len(self._owners) + missing)
            self._owners += [None] * missing
        for session, row in zip(new, free, strict=False):
            session.row = row
            self._owners[row] = session
        self._cache.reserve(len(self._owners), 1)
        sessions = [self._sessions[request.session] for request in requests]
        self._to_front(sessions)
        return sessions

    def _to_front(self, sessions: Sequence[_Session]) -> None:
        """Give ``n`` sessions the first ``n`` rows, moving as few as possible."""
        count, rows = len(sessions), {session.row for session in sessions}
        far = [row for row in sorted(rows) if row >= count]
        near = [row for row in range(count) if row not in rows]
        if not far:
            return
        moved = [owner for row in far + near if (owner := self._owners[row]) is not None]
        self._cache.swap(far, near, max(len(session.ids) for session in moved))
        for a, b in zip(far, near, strict=True):
            self._owners[a], self._owners[b] = self._owners[b], self._owners[a]
        for row in far + near:
            if (owner := self._owners[row]) is not None:
                owner.row = row

    def _feed(self, requests: Sequence[Request], sessions: Sequence[_Session]) -> torch.Tensor:
        """Read what is new of each history; logits ``(n, vocabulary)`` for its next token."""
        parts = [r.ids[len(s.ids) :] for r, s in zip(requests, sessions, strict=True)]
        new_pictures = [r.pictures[len(s.pictures) :] for r, s in zip(requests, sessions, strict=True)]
        width = max(map(len, parts))
        ids = np.full((len(parts), width), self._end_id, dtype=np.int64)
        positions = np.zeros((3, len(parts), width), dtype=np.int64)
        ends: list[int] = []
        for i, (part, pictures, session) in enumerate(zip(parts, new_pictures, sessions, strict=True)):
            self._check(requests[i], part, pictures)
            grids = iter([picture.grid for picture in pictures])
            ids[i, : len(part)] = part
            positions[:, i, : len(part)], end = rope_positions(
                part, grids, session.position, self._image_id, self._merge
            )
            ends.append(end)
        tokens = torch.from_numpy(ids).to(self._device)
        features = self._encode([picture for row in new_pictures for picture in row])
        hidden = self._run(tokens, torch.from_numpy(positions), sessions, features)
        for request, session, end in zip(requests, sessions, ends, strict=True):
            session.ids, session.position = list(request.ids), end
            session.pictures = [picture.key for picture in request.pictures]
        last = torch.tensor([len(part) - 1 for part in parts], device=self._device)
        return self.model.lm_head(hidden[torch.arange(len(parts), device=self._device), last])

    def _decode(self, sessions: Sequence[_Session], tokens: Sequence[int]) -> torch.Tensor:
        """Append one sampled token to each history; logits ``(n, vocabulary)`` for the next."""
        ids = torch.tensor(tokens, device=self._device)[:, None]
        positions = torch.tensor([session.position for session in sessions]).expand(3, -1)[..., None]
        hidden = self._run(ids, positions, sessions, [])
        for session, token in zip(sessions, tokens, strict=True):
            session.ids.append(token)
            session.position += 1
        return self.model.lm_head(hidden[:, 0])

    def _run(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor,
        sessions: Sequence[_Session],
        features: _Features,
    ) -> torch.Tensor:
        """One pass of the text model over the first rows.

        Args:
            ids: New tokens, ``(n, width)``, padded on the right.
            positions: Their positions, ``(3, n, width)``.
            sessions: Owners of the first ``n`` rows, in order.
            features: Of all pictures among the tokens, in order; empty for none.

        Returns:
            Hidden states ``(n, width, hidden)``.
        """
        text = self.model.model.language_model
        past = torch.tensor([len(session.ids) for session in sessions], device=self._device)
        embeds = text.embed_tokens(ids)
        seen = ids == self._image_id if features else None
        if seen is not None:
            embeds[seen] = features[0].to(embeds.dtype)
        output = text(
            inputs_embeds=embeds,
            attention_mask=self._cache.begin(past, ids.shape[1]),
            position_ids=positions.to(self._device),
            past_key_values=self._cache,
            visual_pos_masks=seen,
            deepstack_visual_embeds=features[1:] or None,
        )
        return output.last_hidden_state

    def _encode(self, pictures: Sequence[Picture]) -> _Features:
        """What the text model gets of some pictures, one behind the other; empty for none."""
        new = list({p.key: p for p in pictures if p.key not in self._features}.values())
        for start in range(0, len(new), _PICTURES_AT_ONCE):
            batch = new[start : start + _PICTURES_AT_ONCE]
            grids = torch.cat([picture.grid_thw for picture in batch]).to(self._device)
            pixels = torch.cat([picture.pixel_values for picture in batch]).to(self._device)
            visual = self.model.model.visual
            output = visual(pixels.to(visual.dtype), grid_thw=grids)
            counts = (grids.prod(-1) // self._merge**2).tolist()
            levels = [output.pooler_output, *output.deepstack_features]
            columns = zip(*(level.split(counts) for level in levels), strict=True)
            self._features.update(zip((p.key for p in batch), map(list, columns), strict=True))
        found = [self._features[picture.key] for picture in pictures]
        while len(self._features) > _PICTURES_KEPT:
            self._features.popitem(last=False)
        return [torch.cat(level) for level in zip(*found, strict=True)]

    def _check(self, request: Request, part: Sequence[int], pictures: Sequence[Picture]) -> None:
        tokens = part.count(self._image_id)
        expected = sum(int(picture.grid_thw.prod()) for picture in pictures) // self._merge**2
        if tokens != expected:
            raise ValueError(
                f"session {request.session!r}: its new part holds {tokens} image tokens, its "
                f"{len(pictures)} new pictures need {expected}"
            )


@dataclass(frozen=True)
class _Settings:
    """How each request samples, as tensors with one row per request."""

    uniforms: torch.Tensor
    temperature: torch.Tensor
    top_p: torch.Tensor
    top_k: torch.Tensor

    @classmethod
    def of(cls, requests: Sequence[Request], seed: int, round_: int, device: torch.device) -> _Settings:
        longest = max(request.max_tokens for request in requests)
        numbers = np.zeros((len(requests), longest))
        for row, r in zip(numbers, requests, strict=True):
            row[: r.max_tokens] = uniforms(seed, round_, r.session, len(r.ids), r.max_tokens)
        return cls(
            torch.from_numpy(numbers).to(device),
            torch.tensor([r.temperature for r in requests], device=device),
            torch.tensor([r.top_p for r in requests], device=device),
            torch.tensor([r.top_k for r in requests], device=device),
        )

    @property
    def longest(self) -> int:
        """Most tokens that any of them may take."""
        return self.uniforms.shape[1]

    def at(self, rows: Sequence[int], step: int) -> tuple[torch.Tensor, ...]:
        """Random numbers, temperatures, ``top_p`` and ``top_k`` of some requests at a token."""
        index = torch.tensor(rows, device=self.uniforms.device)
        return (
            self.uniforms[index, step],
            self.temperature[index],
            self.top_p[index],
            self.top_k[index],
        )
