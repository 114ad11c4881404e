"""A notebook executed and made into a page (one file, no script, nothing to fetch), and the page printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .masking import secrets_in_environment
from .paths import project_dir

NOTEBOOK = "06_weekly_review.ipynb"
TEMPLATES = Path(__file__).parent / "templates"
HIDDEN = "not-on-the-page"  # the tag of cells that are for those who work with the notebook
SECONDS = 600  # that one cell may take
_MARKED = re.compile(
    r'<div data-review="([^"]*)"'
)  # see report_views.View; in what is shown as text a quote is escaped
_KEPT = "Nothing was written; the last review stays as it is."
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic", "--disable-dev-shm-usage", "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def find_notebook() -> Path:
    """The review's notebook: the project's own, else the one that came with this clone.

    Raises SettingsError where there is none.
    """
    project = project_dir()
    clone = Path(__file__).parent.parent / "notebooks"
    for folder in [*([project / "notebooks"] if project is not None else []), clone]:
        if (folder / NOTEBOOK).is_file():
            return folder / NOTEBOOK
    raise SettingsError(f"there is no {NOTEBOOK}: it belongs in your project's notebooks/. A clone of evalkit has it.")


def refuse_without_parameters(notebook: Path) -> None:
    """Raise SettingsError where a notebook could not be told of which week it is to be."""
    import nbformat

    try:
        cells = nbformat.read(notebook, as_version=4).cells  # type: ignore[no-untyped-call]
        tagged = [cell.cell_type for cell in cells if "parameters" in (cell.metadata.get("tags") or ())]
    except (ValueError, TypeError, LookupError, OSError, AttributeError, nbformat.ValidationError) as error:
        raise SettingsError(f"{notebook.name} cannot be read as a notebook: {error}. {_KEPT}") from None
    if tagged != ["code"]:
        raise SettingsError(
            f"{notebook.name} has {len(tagged) or 'no'} {'cell' if len(tagged) == 1 else 'cells'} with the tag "
            "`parameters`, and it takes one cell of code to be told of which week it is to be: tag the cell that sets "
            f"week, since, until, dataset, baseline and results_dir, and no other. {_KEPT}"
        )


def refuse_another_week(notebook: Path, node: Any, mark: str) -> None:
    """Raise RuntimeError where an executed notebook shows, in any part of a review, other days or runs than meant."""
    shown = {
        found
        for cell in node.cells
        for output in cell.get("outputs", ())
        for found in _MARKED.findall(str(output.get("data", {}).get("text/html", "")))
    }
    if shown == {mark}:
        return
    weeks = sorted({one.rpartition("_")[0] for one in shown - {mark}})
    wanted = mark.rpartition("_")[0]
    if not shown:
        what = "no part of an ek.report.Review, such as its headlines, so that nothing says of which week it is"
    elif weeks == [wanted]:
        what = f"other runs of {wanted} than were asked for, or a run ended meanwhile (then try again)"
    else:
        what = f"{', '.join(weeks)} where {wanted} was asked for"
    raise RuntimeError(
        f"{notebook.name} shows {what}. It must give ek.report.Review all that its cell `parameters` sets (week, "
        f"since, until, dataset, baseline, results_dir), and set none of it again. {_KEPT}"
    )


def execute(notebook: Path, parameters: Mapping[str, Any], folder: Path) -> Any:
    """The notebook with its outputs, executed by papermill in a kernel that works in `folder`.

    To be called in a thread of its own. The kernel gets none of the environment's keys. What papermill notes about
    itself (paths, times) is left out.

    Raises RuntimeError, with the cell's own error, where a cell fails or the kernel dies.
    """
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    import nbformat
    from jupyter_core.utils import ensure_event_loop
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from papermill.execute import execute_notebook

    with tempfile.TemporaryDirectory(prefix="ek") as scratch:
        target = Path(scratch) / NOTEBOOK
        try:
            execute_notebook(
                str(notebook), str(target), dict(parameters), kernel_name="python3", progress_bar=False,
                log_output=False, cwd=str(folder), execution_timeout=SECONDS, request_save_on_cell_execute=False,
                kernel_manager_class=_kernel_manager(Path(scratch)), language="python",
            )  # fmt: skip
        except PapermillExecutionError as error:
            raise RuntimeError(f"the notebook {notebook.name} failed: {error.ename}: {error.evalue}") from None
        except DeadKernelError:
            advice = "Run it in JupyterLab to see why."
            raise RuntimeError(f"the kernel died that executed {notebook.name}. {advice}") from None
        finally:
            ensure_event_loop().close()  # the one that was made for this thread
        node = nbformat.read(target, as_version=4)  # type: ignore[no-untyped-call]
    if any(output.output_type == "error" for cell in node.cells for output in cell.get("outputs", ())):
        raise RuntimeError(f"the notebook {notebook.name} stopped before its end: a cell leaves it. {_KEPT}")
    return _plain(node)


def page_of(node: Any, title: str) -> str:
    """The executed notebook as one HTML page: prose and outputs, no code."""
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    config = Config()
    config.TemplateExporter.extra_template_basedirs = [str(TEMPLATES)]
    config.HTMLExporter.template_name = "review"
    config.HTMLExporter.embed_images = True
    config.HTMLExporter.exclude_input = True
    config.HTMLExporter.exclude_input_prompt = config.HTMLExporter.exclude_output_prompt = True
    config.HTMLExporter.exclude_anchor_links = True
    shown = node.copy()
    shown.cells = [cell for cell in node.cells if _is_shown(cell)]
    exporter = HTMLExporter(config=config)  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(shown, {"metadata": {"name": title}})
    return str(body)


def find_browser() -> str:
    """The path of a browser that prints. Raises SettingsError, with what to install, where there is none."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise SettingsError(
            "a PDF is printed by Chromium or Chrome, and neither is there. Install one (Debian, Ubuntu: `apt install "
            "chromium`), or leave --pdf out: review.html prints from any browser, and charts are PNG and SVG"
        )
    return found


def print_page(browser: str, page: Path, target: Path) -> None:
    """Print an HTML file into a PDF. Raises RuntimeError, with what the browser says, where that fails."""
    with tempfile.TemporaryDirectory(prefix="ek") as scratch:
        made = Path(scratch) / "page.pdf"
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        command = [browser, *_FLAGS, *(["--no-sandbox"] if root else []), f"--user-data-dir={scratch}/profile",
                   f"--print-to-pdf={made}", page.resolve().as_uri()]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, check=False)  # noqa: S603
        if not made.is_file() or not made.stat().st_size:
            said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise RuntimeError(f"{Path(browser).name} did not print the page: {said[0]}")
        shutil.copyfile(made, target)


def _kernel_manager(scratch: Path) -> type:
    """A manager whose kernels talk through files of ours instead of the network, and know none of our keys."""
    from jupyter_client.manager import AsyncKernelManager

    class Manager(AsyncKernelManager):
        def __init__(self, **traits: Any) -> None:
            super().__init__(**traits)
            if os.name == "posix":
                self.transport, self.ip = "ipc", str(scratch / "k")

        async def _async_pre_start_kernel(self, **options: Any) -> Any:
            secrets = set(secrets_in_environment())
            kept = {name: value for name, value in options.pop("env", os.environ).items() if value not in secrets}
            command, options = await super()._async_pre_start_kernel(env=kept, **options)
            # What a kernel says of itself while it starts and stops is nothing to a reader.
            return command, options | {"stderr": subprocess.DEVNULL}

        pre_start_kernel = _async_pre_start_kernel

    return Manager


def _is_shown(cell: Any) -> bool:
    return bool(cell.get("outputs")) if cell.cell_type == "code" else HIDDEN not in cell.metadata.get("tags", ())


def _plain(node: Any) -> Any:
    """The notebook without what papermill and the kernel say about the machine and the time."""
    node.metadata = {"kernelspec": node.metadata["kernelspec"], "language_info": {"name": "python"}}
    for place, cell in enumerate(node.cells):
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        cell.id = f"cell-{place:02}"
    return node
