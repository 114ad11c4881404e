"""How bodies get to an endpoint: over the connections of openai's client, with headers that are settled beforehand.

The client works out address, headers and keys anew for each request, which takes it longer than sending. Here they
are put together once, before anything is sent, from what the client shows to all and from the key: nothing is learned
from a request or from an answer. A redirect is followed where it leaves body, method and origin as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

MOST_REDIRECTS = 3
_SAME_METHOD = (307, 308)  # 301, 302 and 303 may turn a POST into a GET


class Post:
    """Sends bodies to one path of an endpoint; `http` is what `client` sends with."""

    def __init__(self, client: AsyncOpenAI, http: httpx2.AsyncClient, path: str, key: str):
        import httpx2

        self.client, self._http = client, http
        shown = {name: value for name, value in client.default_headers.items() if isinstance(value, str)}
        self._headers = httpx2.Headers({"Authorization": f"Bearer {key}"})
        self._headers.update(shown)  # a header that the user gives counts more than the key
        base, query = client.base_url, cast("dict[str, Any]", client.default_query)
        self._url = base.copy_with(path=base.path.rstrip("/") + path).copy_merge_params(query)
        self._extensions = {"timeout": http.timeout.as_dict()}

    async def send(self, body: bytes) -> httpx2.Response:
        """The response, whatever its status. Raises what the transport raises where there is none."""
        response = await self._send(self._url, body)
        for _ in range(MOST_REDIRECTS):
            url = self._onward(response)
            if url is None:
                break
            response = await self._send(url, body)
        return response

    def _onward(self, response: httpx2.Response) -> httpx2.URL | None:
        """Where a response sends the same request on to, within the origin that was meant; else None."""
        import httpx2

        location = response.headers.get("location")
        if response.status_code not in _SAME_METHOD or not location:
            return None
        try:
            url = response.request.url.join(location)
        except (httpx2.InvalidURL, ValueError):
            return None
        is_same = (url.scheme, url.host, url.port) == (self._url.scheme, self._url.host, self._url.port)
        return url if is_same and not url.userinfo else None  # a name and a password would be another's

    async def _send(self, url: httpx2.URL, body: bytes) -> httpx2.Response:
        import httpx2

        request = httpx2.Request("POST", url, headers=self._headers, content=body, extensions=self._extensions)
        return await self._http.send(request, follow_redirects=False)
