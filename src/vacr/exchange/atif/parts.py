"""What was said or printed, as ATIF has it: a text, or parts where there are pictures or sounds.
Step: export.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vacr.exchange.atif import VERSIONS
from vacr.exchange.exported import Losses
from vacr.model import Native
from vacr.viewer.parts import Image, Other, Part, Text
from vacr.viewer.values import told

IMAGES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
SOUNDS = frozenset(
    f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff")
)
_OTHER_NAMES = {"audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav", "audio/m4a": "audio/mp4"}


def has_sound(parts: Iterable[Part]) -> bool:
    """Tell whether there is anything to hear."""
    return any(_sound(part) is not None for part in parts)


def content_of(parts: list[Part], version: str, losses: Losses) -> str | list[Native]:
    """Give what parts say: one text where it is all text, as what ATIF had before 1.6 and what most
    readers expect.
    """
    made = [_part(part, version, losses) for part in parts]
    if all(one["type"] == "text" for one in made):
        return "\n".join(one["text"] for one in made)
    return made


def text_alone(parts: list[Part], losses: Losses) -> str:
    """Give what parts say where only a text may stand."""
    return "\n".join(_part(part, VERSIONS[0], losses)["text"] for part in parts)


def _part(part: Part, version: str, losses: Losses) -> Native:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    sound = _sound(part)
    if sound is not None and version >= "1.8":
        return {"type": "audio", "source": sound}
    if isinstance(part, Image):
        path = part.address or f"data:{part.media_type};base64,{part.data}"
        if version >= "1.6" and part.media_type in IMAGES:
            return {"type": "image", "source": {"media_type": part.media_type, "path": path}}
        losses["images and sounds"] += 1
        return {"type": "text", "text": f"[{part.media_type or 'a file of no type'}, not exported]"}
    return {"type": "text", "text": text_of_value(part.value)}


def text_of_value(value: Any) -> str:
    """Give any value as a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else told(value)


def _sound(part: Part) -> Native | None:
    """See a part as a sound, as Gemini and OpenAI have them."""
    if isinstance(part, Image):
        kind, path = part.media_type, part.address or f"data:{part.media_type};base64,{part.data}"
    elif (
        isinstance(part, Other)
        and isinstance(part.value, dict)
        and isinstance(held := part.value.get("input_audio"), dict)
    ):
        kind, data = f"audio/{held.get('format')}", held.get("data")
        path = f"data:{kind};base64,{data}" if isinstance(data, str) else ""
    else:
        return None
    kind = _OTHER_NAMES.get(kind, kind)
    return {"media_type": kind, "path": path} if kind in SOUNDS and path else None
