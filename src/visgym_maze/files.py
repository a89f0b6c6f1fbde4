"""How are files written so that a crash never leaves half of one, nor two processes a mixture?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write ``data`` to a temporary file beside ``path``, flush it to disk, then rename it.

    A reader sees the old content or the new, never a part. Missing folders are made.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """:func:`write_bytes` for UTF-8 text."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def locked(folder: str | Path, refusal: Exception) -> Generator[None]:
    """Hold a folder for this process, by its file ``.lock``; it is free again when the process ends.

    Where there are no such locks (Windows), two processes in one folder are the user's to avoid.

    Args:
        folder: An existing folder.
        refusal: Raised if another process holds it.
    """
    with (Path(folder) / ".lock").open("w") as file:
        try:
            import fcntl
        except ImportError:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise refusal from error
        yield


def _umask() -> int:
    # The mask can only be read by setting it; 0o022 is restored at once.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
