"""Leaves out the tests of the training side where the extra ``train`` is not installed."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("skyrl") else ["skyrl/*", "local/*"]
