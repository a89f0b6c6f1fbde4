"""Leaves these tests out where the extra ``train`` is not installed."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("skyrl") else ["test_*.py"]
