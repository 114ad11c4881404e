"""Notebooks executed in a real kernel, in a copy of the project, from any of its folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
_OWN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_MODEL", "EVALKIT_RESULTS", "EVALKIT_JUDGE_MODEL")


def copy_of_project(folder: Path) -> Path:
    """A clone's folders: the datasets, the notebooks and the sample history, without anybody's own runs."""
    (folder / "eval_data").symlink_to(ROOT / "eval_data")
    for part in ("notebooks", "results/sample"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns(".*"))
    return folder


def without_keys() -> dict[str, str]:
    """The environment of somebody who has set nothing; what a notebook's own code is warned of is an error."""
    return {name: value for name, value in os.environ.items() if name not in _OWN} | {
        "PYTHONWARNINGS": "error:::__main__",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


async def execute(paths: Iterable[Path], folder: Path) -> dict[str, nbformat.NotebookNode]:
    """The notebooks with their outputs, executed one after another by one kernel that works in `folder`.

    Nothing that one of them names is there for the next.
    """
    from matplotlib import font_manager  # noqa: F401  (the first import on a machine says that it builds a cache)

    executed = {}
    with TemporaryDirectory(prefix="nb") as sockets:
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/k")
        await manager.start_kernel(cwd=str(folder), env=without_keys())
        try:
            for path in paths:
                node = nbformat.read(path, as_version=4)
                node.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
                client = NotebookClient(node, km=manager, timeout=120, allow_errors=True)
                await client.async_execute()
                client.kc.stop_channels()
                del node.cells[0]
                executed[path.name] = node
        finally:
            await manager.shutdown_kernel(now=True)
    return executed
