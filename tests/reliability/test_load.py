"""A short run of the load test: memory stays flat where the long run says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import load

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")


def test_an_open_episode_takes_kilobytes():
    result = load.many_dialogues(1_000)
    assert result["turns"] == 15_000
    assert result["kilobytes_each_after_15_turns"] < 60


def test_memory_stays_flat_over_episodes():
    megabytes = load.a_day(8_000)["resident_megabytes_at_each_tenth"]
    assert megabytes[-1] - megabytes[2] < 3


def test_threads_keep_nothing():
    load.many_threads(32, 250)
    assert load.many_threads(32, 1_250)["grew_by_megabytes"] < 20
