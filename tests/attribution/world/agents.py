"""Changes that agents make with the file tools of their hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attribution.world.files import OTHERS, File
from tests.attribution.world.hosts import CodexHost

if TYPE_CHECKING:
    from tests.attribution.world import Worker, World


def _fits(worker: Worker, file: File) -> bool:
    """Return whether an agent can change a file; patches need a plain file."""
    return bool(file.lines) and (not isinstance(worker.host, CodexHost) or file.plain)


def _once(file: File, text: str) -> bool:
    return ("\n" + file.shown()).count("\n" + text) == 1 and file.shown().count(text) == 1


def _end(world: World, file: File, call_id: str, last: str, *, patched: bool) -> set[str]:
    """Count a line whose line end was added or removed as changed; return the texts of such lines."""
    if file.last_end or not file.lines or (not patched and file.lines[-1][0] == last):
        return set()
    file.last_end = patched
    texts = {last, file.lines[-1][0]} if not patched else {last}
    for text, owner in file.lines:
        if text in texts and owner not in OTHERS:
            world.wrote(text, owner, call_id)  # a listing does not show whether the last line ends
    file.lines = [(text, call_id if text in texts else owner) for text, owner in file.lines]
    return texts


def edit(world: World, worker: Worker) -> None:
    """Replace some lines; a few of the new ones may equal the old ones."""
    picked = world.pick(lambda file: _fits(worker, file))
    if picked is None:
        return
    path, file = picked
    first = world.random.randrange(len(file.lines))
    stop = min(len(file.lines), first + world.random.randint(1, 5))
    old = file.lines[first:stop]
    new = [item for item in old if world.random.random() < 0.5]
    for _ in range(world.random.randint(0, 4)):
        new.insert(world.random.randint(0, len(new)), (world.new_text(), ""))
    before = [text for text, _ in old]
    if (
        before == [text for text, _ in new]
        or (not new and stop == len(file.lines))
        or "\udce9" in "".join(before)
    ):
        return
    near = (
        [text for text, _ in file.lines[max(0, first - 3) : stop + 3]]
        if isinstance(worker.host, CodexHost)
        else before
    )
    if not _once(file, "\n".join(near)) or not any(before):
        return
    world.ready(worker, path)
    call_id = worker.host.change(path, file, first, stop, [text for text, _ in new])
    last = file.lines[-1][0]
    file.lines[first:stop] = [(text, owner or call_id) for text, owner in new]
    ends = _end(world, file, call_id, last, patched=isinstance(worker.host, CodexHost))
    world.change(
        worker, path, call_id, file.lines, {text for text, owner in new if not owner} | ends
    )


def half_line(world: World, worker: Worker) -> None:
    """Change a part of a line."""
    picked = world.pick(lambda file: bool(file.lines))
    if picked is None or isinstance(worker.host, CodexHost):
        return
    path, file = picked
    at = world.random.randrange(len(file.lines))
    text, _ = file.lines[at]
    name = text.strip().split(" ")[0]
    world.texts += 1
    new = f"line_{world.texts}"
    if not name.startswith("line_") or file.shown().count(name + " =") != 1:
        return
    world.ready(worker, path)
    call_id = worker.host.replace(path, name + " =", new + " =")
    file.lines[at] = (text.replace(name + " =", new + " ="), call_id)
    world.change(worker, path, call_id, file.lines, {file.lines[at][0]})


def every(world: World, worker: Worker) -> None:
    """Replace every occurrence of a word."""
    picked = world.pick(lambda file: any("= shared" in text for text, _ in file.lines))
    if picked is None or isinstance(worker.host, CodexHost):
        return
    path, file = picked
    world.look(worker, path)
    word = (
        world.random.choice([text for text, _ in file.lines if "= shared" in text])
        .split("=")[1]
        .split("(")[0]
        .strip()
    )
    world.texts += 1
    old, new = f" {word}(", f" shared{world.texts}("
    call_id = worker.host.replace(path, old, new, every=True)
    texts = {text.replace(old, new) for text, _ in file.lines if old in text}
    lines = [
        (text.replace(old, new), call_id if old in text else owner) for text, owner in file.lines
    ]
    world.change(worker, path, call_id, lines, texts)


def create(world: World, worker: Worker) -> None:
    """Write a new file."""
    path = world.new_path()
    lines = [world.new_text() for _ in range(world.random.randint(1, 12))]
    call_id = worker.host.write(path, "\n".join(lines) + "\n", created=True)
    world.files[path] = File([])
    world.change(worker, path, call_id, [(line, call_id) for line in lines], lines)


def write(world: World, worker: Worker) -> None:
    """Write over a file that is known."""
    picked = world.pick(lambda file: file.plain)
    if picked is None:
        return
    path, file = picked
    world.look(worker, path)
    new = [line for line in file.lines if world.random.random() < 0.8]
    for _ in range(world.random.randint(1, 4)):
        new.insert(world.random.randint(0, len(new)), (world.new_text(), ""))
    call_id = worker.host.write(path, "\n".join(text for text, _ in new) + "\n", created=False)
    if not file.last_end and file.lines:
        text, owner = file.lines[-1]
        new = [
            (before, other if before != text else "") for before, other in new
        ]  # it ends now: another line
        if owner not in OTHERS:
            world.wrote(text, owner, call_id)
    file.last_end = True
    lines = [(text, owner or call_id) for text, owner in new]
    world.change(worker, path, call_id, lines, {text for text, owner in new if not owner})


def fail(world: World, worker: Worker) -> None:
    """Make a call that fails, or is refused, and changes nothing."""
    picked = world.pick(lambda file: bool(file.lines))
    if picked is None:
        return
    path, file = picked
    said = [
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "The user doesn't want to proceed.",
    ]
    worker.host.replace(
        path, world.random.choice(file.lines)[0], world.new_text(), error=world.random.choice(said)
    )


def revert(world: World, worker: Worker) -> None:
    """Change a line and change it back."""
    picked = world.pick(lambda file: _fits(worker, file))
    if picked is None:
        return
    path, file = picked
    at = world.random.randrange(len(file.lines))
    text, owner = file.lines[at]
    if (
        not _once(file, text)
        or not text
        or "\udce9" in text
        or not (file.last_end or not isinstance(worker.host, CodexHost))
    ):
        return
    world.ready(worker, path)
    new = world.new_text()
    there = worker.host.change(path, file, at, at + 1, [new])
    world.change(
        worker, path, there, [*file.lines[:at], (new, there), *file.lines[at + 1 :]], {new}
    )
    back = worker.host.change(path, file, at, at + 1, [text])
    if owner not in OTHERS:
        world.wrote(text, owner, back)
        owner = back
    world.change(
        worker, path, back, [*file.lines[:at], (text, owner), *file.lines[at + 1 :]], {text}
    )
