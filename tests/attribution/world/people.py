"""Changes that people make between the actions of agents, unobserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attribution.world.commands import laid_out
from tests.attribution.world.files import HUMAN, File

if TYPE_CHECKING:
    from tests.attribution.world import World


def edit(world: World) -> None:
    """Change some lines of a file."""
    picked = world.pick()
    if picked is None:
        return
    _, file = picked
    at = world.random.choice([world.random.randint(0, len(file.lines)), len(file.lines)])
    stop = min(len(file.lines), at + world.random.randint(0, 3))
    new = world.written(world.random.randint(0, 3), HUMAN)
    lines = [*file.lines[:at], *new, *file.lines[stop:]]
    if stop < len(file.lines) or file.last_end or not lines:
        file.become(lines, sure=False)


def create(world: World) -> None:
    """Write a new file."""
    file = File(world.written(world.random.randint(1, 9), HUMAN))
    file.sure = False
    world.files[world.new_path()] = file


def layout(world: World) -> None:
    """Format a file."""
    picked = world.pick()
    if picked is not None:
        picked[1].become(laid_out(world, picked[1]), sure=False)
        picked[1].relaid = True


def move(world: World) -> None:
    """Rename a file."""
    picked = world.pick()
    if picked is not None:
        _moved(world, picked[0], world.new_path())


def move_folder(world: World) -> None:
    """Rename a folder."""
    source = world.random.choice(["src/deep", "lib"])
    to = f"{source}{world.texts}"
    for path in [path for path in world.files if path.startswith(source + "/")]:
        _moved(world, path, to + path.removeprefix(source))


def _moved(world: World, path: str, to: str) -> None:
    file = world.files[to] = world.files.pop(path)
    file.become(file.lines, sure=False)
    world.lost |= {text for text, _ in file.lines}


def remove(world: World) -> None:
    """Remove a file."""
    picked = world.pick()
    if picked is not None and world.random.random() < 0.3 and len(world.files) > 1:
        del world.files[picked[0]]
