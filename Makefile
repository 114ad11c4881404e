.PHONY: lint types test quick

lint:
	ruff check . && ruff format --check .

types:
	mypy

test:
	pytest

quick:
	pytest -m "not slow and not browser"
