"""What the environment says: the nearest `.env`, and which model is meant where none is named."""

from __future__ import annotations

import os

DEFAULT_MODEL = "gpt-4.1-mini"
JUDGE_MODEL, JUDGE_URL, JUDGE_KEY = "EVALKIT_JUDGE_MODEL", "EVALKIT_JUDGE_BASE_URL", "EVALKIT_JUDGE_API_KEY"


def load_env() -> None:
    """Take what the nearest `.env` sets and the environment does not."""
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True))


def default_model() -> str:
    """The name of the model that is asked where none is given."""
    return os.environ.get("EVALKIT_MODEL") or DEFAULT_MODEL
