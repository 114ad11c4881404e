"""How bodies get to an endpoint: by openai's client, which is asked only once how its requests look.

The client works out address, headers and keys anew for each request, which takes it longer than sending. Here its
first request is the pattern of all that follow on the same connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_OF_ONE_BODY = ("content-length", "transfer-encoding")


class Post:
    """Sends bodies to one path of an endpoint; `http` is what `client` sends with."""

    def __init__(self, client: AsyncOpenAI, http: httpx2.AsyncClient, path: str):
        self.client, self._http, self._path = client, http, path
        self._pattern: dict[str, Any] | None = None

    async def send(self, body: bytes) -> httpx2.Response:
        """The response, whatever its status. Raises what the client or its transport raises where there is none."""
        import httpx2

        if self._pattern is None:
            return await self._by_client(body)
        return await self._http.send(httpx2.Request("POST", content=body, **self._pattern))

    async def _by_client(self, body: bytes) -> httpx2.Response:
        import httpx2
        import openai

        try:
            # The raw response: replies come in more shapes than the library's types have.
            response = await self.client.post(self._path, cast_to=httpx2.Response, content=body)
        except openai.APIStatusError as error:
            response = error.response
        request = (*response.history, response)[0].request  # the one that was made here, before any redirect
        headers = [(name, value) for name, value in request.headers.multi_items() if name not in _OF_ONE_BODY]
        self._pattern = {"url": request.url, "headers": httpx2.Headers(headers), "extensions": request.extensions}
        return response
