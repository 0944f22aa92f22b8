"""Responses over HTTP from services that are not trusted."""

from __future__ import annotations

import http.client


class CheckedResponse(http.client.HTTPResponse):
    """A response that refuses chunks of negative size.

    The library reads a chunk of size -1 up to the end of the connection, beyond every limit.
    """

    def _read_next_chunk_size(self) -> int:
        """Return the size of the next chunk.

        Raises:
            http.client.HTTPException: it is negative.
        """
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise http.client.HTTPException("the response has a chunk of negative size")
        return size
