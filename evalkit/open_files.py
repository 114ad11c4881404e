"""How many connections this process may still open: each takes one of the files that it may have open at once."""

from __future__ import annotations

import errno
import math
import os

_HEADROOM = 16  # files for all else: the journal, a run's file, names that are looked up
_FOLDER = "/dev/fd"


def room() -> float:
    """How many more files may be opened, at least 1; infinite where there is no limit, or none that can be seen."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY:
            return math.inf
        return max(1, limit - len(os.listdir(_FOLDER)) - _HEADROOM)
    except ImportError:  # Windows
        return math.inf
    except OSError as error:
        return 1 if is_full(error) else math.inf


def is_full(*errors: BaseException) -> bool:
    """Whether one of the errors says that no more files can be opened."""
    return any(isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE) for error in errors)
