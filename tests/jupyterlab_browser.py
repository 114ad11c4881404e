"""A notebook in a real JupyterLab, driven in a real browser: what a person would do and see.

`open_notebook(path, root)` starts JupyterLab on loopback with a random token and throw-away settings, opens the
notebook in Chromium, and gives a `Lab`. Nothing is saved; requests that would leave the machine are blocked and listed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
_SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none", "autoStartDefaultKernel": True},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}  # fmt: skip
_LISTEN = """() => { window.kernelErrors = [];
  window.jupyterapp.shell.currentWidget.context.sessionContext.iopubMessage.connect((_, message) => {
    if (message.header.msg_type === 'error')
      window.kernelErrors.push(message.content.ename + ': ' + message.content.evalue); }); }"""
_READY = """() => window.jupyterapp && window.jupyterapp.shell.currentWidget
  && window.jupyterapp.shell.currentWidget.context
  && window.jupyterapp.shell.currentWidget.context.sessionContext.session
  && window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel
  && window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'idle'"""
_BUSY = """() => { const notebook = window.jupyterapp.shell.currentWidget;
  const pending = notebook.content.widgets.filter(
    cell => cell.promptNode && cell.promptNode.textContent.includes('*')).length;
  return notebook.context.sessionContext.session.kernel.status !== 'idle' || pending > 0; }"""
_HEIGHT = """() => Math.max(...[...document.querySelectorAll('.jp-WindowedPanel-outer')].map(e => e.scrollHeight), 0)"""


class Lab:
    """An open notebook: `page` is Playwright's; `kernel_errors()`, `outside` and `dialogs` must be empty in the end."""

    def __init__(self, page, root, address):
        self.page, self._root, self._address = page, root, address
        self.outside: list[str] = []
        self.dialogs: list[str] = []
        page.on("dialog", self._dialog)
        page.route(re.compile(r"^https?://(?!127\.0\.0\.1|localhost)"), self._block)

    def open(self, notebook):
        """Open a notebook, which lies under the root, in a fresh workspace, and wait until its kernel is idle."""
        path = urllib.parse.quote(str(Path(notebook).resolve().relative_to(self._root.resolve())))
        url = self._address.replace("?", f"/doc/tree/{path}?") + "&reset"
        self.page.goto(url, wait_until="domcontentloaded", timeout=120_000)
        self.page.wait_for_function(_READY, timeout=120_000)
        self.page.evaluate(_LISTEN)

    def end_kernels(self):
        self.page.evaluate("async () => window.jupyterapp.serviceManager.sessions.shutdownAll()")

    def document(self):
        """The notebook as it would be saved, outputs and all."""
        return self.page.evaluate(
            "() => JSON.parse(JSON.stringify(window.jupyterapp.shell.currentWidget.context.model.toJSON()))"
        )

    def run_all(self, timeout=180):
        self.page.set_default_timeout(timeout * 1000)
        self.page.evaluate("async () => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.settle(timeout)

    def settle(self, timeout=60):
        """Wait until the kernel is idle and the text has stopped changing."""
        end, last, since = time.monotonic() + timeout, None, time.monotonic()
        while time.monotonic() < end:
            text = self.text()
            if text != last or self.page.evaluate(_BUSY):
                last, since = text, time.monotonic()
            elif time.monotonic() - since > 0.7:
                return text
            self.page.wait_for_timeout(150)
        raise TimeoutError(f"the notebook did not settle in {timeout} s")

    def text(self):
        return self.page.inner_text(".jp-Notebook")

    def control(self, description):
        """The field, list or menu of a widget with this description."""
        box = self.page.locator(".jupyter-widgets", has=self.page.locator(f"label:text-is('{description}')"))
        return box.last.locator("select, input, textarea").first

    def choose(self, description, value):
        """Choose the option whose label holds `value`, or type it, and wait."""
        control = self.control(description)
        if control.evaluate("one => one.tagName") == "SELECT":
            labels = [label.replace("\xa0", " ") for label in control.locator("option").all_inner_texts()]
            control.select_option(index=next(i for i, label in enumerate(labels) if value in label))
        else:
            control.fill(value)
        return self.settle()

    def click(self, words):
        self.page.locator("button.jupyter-button", has_text=words).first.click()
        return self.settle()

    def kernel_errors(self):
        """Errors of cells and of widgets' callbacks."""
        return self.page.evaluate("() => window.kernelErrors")

    def theme(self, name):
        self.page.evaluate(
            f"async () => window.jupyterapp.commands.execute('apputils:change-theme', {{theme: '{name}'}})"
        )
        self.page.wait_for_timeout(800)

    def screenshot(self, path):
        size = self.page.viewport_size
        tall = min(int(self.page.evaluate(_HEIGHT)) + 120, 12_000)
        self.page.set_viewport_size({"width": size["width"], "height": max(tall, size["height"])})
        self.page.evaluate("() => document.querySelectorAll('.jp-WindowedPanel-outer').forEach(e => e.scrollTo(0, 0))")
        self.page.wait_for_timeout(400)
        self.page.screenshot(path=str(path))
        self.page.set_viewport_size(size)

    def _dialog(self, dialog):
        if dialog.type == "beforeunload":
            dialog.accept()
        else:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

    def _block(self, route):
        self.outside.append(route.request.url)
        route.abort()


@contextlib.contextmanager
def browser_page(**context):
    """A page of a headless Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, headless=True, args=_FLAGS)
        try:
            yield browser.new_context(viewport={"width": 1280, "height": 900}, **context).new_page()
        finally:
            browser.close()


@contextlib.contextmanager
def open_notebook(notebook, root, **environment):
    """The notebook, which lies under `root`, open in JupyterLab with an idle kernel."""
    with open_lab(root, **environment) as lab:
        lab.open(notebook)
        yield lab


@contextlib.contextmanager
def open_lab(root, **environment):
    """JupyterLab on a folder, in which `lab.open(notebook)` opens one notebook after another."""
    with browser_page() as page, _server(Path(root), environment) as address:
        yield Lab(page, Path(root), address)


@contextlib.contextmanager
def _server(root, environment):
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder, _free_port() as port:
        own, token = Path(folder), secrets.token_hex(16)
        for plugin, values in _SETTINGS.items():
            file = own / "settings" / f"{plugin}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        names = {
            "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTER_DATA_DIR": "data",
            "MPLCONFIGDIR": "matplotlib",
        }  # fmt: skip
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
            f"--ServerApp.root_dir={root}", f"--IdentityProvider.token={token}", "--ServerApp.allow_root=True",
            "--ServerApp.port_retries=0", f"--FileCheckpoints.checkpoint_dir={own / 'checkpoints'}",
            "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
        ]  # fmt: skip
        variables = os.environ | {name: str(own / place) for name, place in names.items()} | environment
        with open(own / "server.log", "w") as log:
            server = subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait(server, port, token, own / "server.log")
            yield f"http://127.0.0.1:{port}?token={token}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


@contextlib.contextmanager
def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    yield port


def _wait(server, port, token, log):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/status", headers={"Authorization": f"token {token}"})
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request, timeout=5).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
