"""Changes that agents make with shell commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attribution.world.files import SHELL, File, Line

if TYPE_CHECKING:
    from tests.attribution.world import Worker, World


def here_document(world: World, worker: Worker) -> None:
    """Write a new file with a here-document."""
    path = world.new_path("sh")
    lines = [world.new_text() for _ in range(world.random.randint(1, 6))]
    call_id = worker.host.shell(
        f"cat > {path} <<'EOF'\n" + "".join(line + "\n" for line in lines) + "EOF"
    )
    world.files[path] = File([(line, call_id) for line in lines])
    world.note(path, call_id, set(lines))


def append(world: World, worker: Worker) -> None:
    """Add lines at the end of a file."""
    picked = world.pick(lambda file: file.last_end and file.end == "\n")
    if picked is None:
        return
    path, file = picked
    lines = [world.new_text() for _ in range(world.random.randint(1, 3))]
    text = "".join(line + "\n" for line in lines)
    call_id = worker.host.shell(
        world.random.choice(
            [f"cat >> {path} <<'EOF'\n{text}EOF", f"tee -a {path} > /dev/null <<'EOF'\n{text}EOF"]
        )
    )
    file.become([*file.lines, *((line, call_id) for line in lines)], sure=True)
    world.note(path, call_id, set(lines))


def move(world: World, worker: Worker) -> None:
    """Rename a file, with or without git."""
    picked = world.pick()
    if picked is None:
        return
    path, to = picked[0], world.new_path()
    if path in world.control.index and world.random.random() < 0.5:
        worker.host.shell(f"git mv {path} {to}")
        world.control.index[to] = world.control.index.pop(path)
    else:
        worker.host.shell(f"mv {path} {to}")
    world.files[to] = world.files.pop(path)


def copy(world: World, worker: Worker) -> None:
    """Copy a file."""
    picked = world.pick()
    if picked is None or world.random.random() < 0.5:
        return
    to = world.new_path()
    worker.host.shell(f"cp {picked[0]} {to}")
    world.files[to] = picked[1].copy()


def move_folder(world: World, worker: Worker) -> None:
    """Rename a folder."""
    source = world.random.choice(["src/deep", "lib", "src"])
    moved = [path for path in world.files if path.startswith(source + "/")]
    if not moved or world.random.random() < 0.5:
        return
    to = f"moved{world.texts}_{world.random.randint(0, 99)}"
    worker.host.shell(f"mv {source} {to} && mkdir -p {source}")
    for path in moved:
        world.files[to + path.removeprefix(source)] = world.files.pop(path)


def remove(world: World, worker: Worker) -> None:
    """Remove a file."""
    picked = world.pick()
    if picked is None or world.random.random() < 0.7 or len(world.files) < 2:
        return
    path, _ = picked
    if path in world.control.index and world.random.random() < 0.5:
        worker.host.shell(f"git rm -qf {path}")
        del world.control.index[path]
    else:
        worker.host.shell(f"rm {path}")
    del world.files[path]


def script(world: World, worker: Worker) -> None:
    """Change lines with a script whose effect the command does not show."""
    picked = world.pick(lambda file: any(_named(text) for text, _ in file.lines))
    if picked is None:
        return
    path, file = picked
    at = world.random.choice([at for at, (text, _) in enumerate(file.lines) if _named(text)])
    name = file.lines[at][0].strip().split(" ")[0]
    world.texts += 1
    lines: list[Line] = list(file.lines)
    if world.random.random() < 0.5:
        worker.host.shell(f"sed -i 's/\\b{name} =/line_{world.texts} =/' {path}")
        lines[at] = lines[at][0].replace(f"{name} =", f"line_{world.texts} ="), SHELL
    else:
        worker.host.shell(f"python3 tools/generate.py {path}")
        stop = at + world.random.randint(0, 2)
        lines[at:stop] = [(world.new_text(), SHELL) for _ in range(world.random.randint(1, 3))]
    file.become(lines, sure=False)


def _named(text: str) -> bool:
    return text.strip().startswith("line_") and text.strip().split(" ")[1] == "="


def layout(world: World, worker: Worker) -> None:
    """Run a formatter on a file."""
    picked = world.pick(lambda file: bool(file.lines))
    if picked is None:
        return
    path, file = picked
    worker.host.shell(
        world.random.choice(
            [f"ruff format {path}", f"npx prettier --write {path}", "ruff format ."]
        )
    )
    file.become(laid_out(world, file), sure=False)


def laid_out(world: World, file: File) -> list[Line]:
    """Return the lines of a file in another layout; parts of a line keep its writer."""
    lines: list[Line] = []
    for text, owner in file.lines:
        chance = world.random.random()
        indent = text[: len(text) - len(text.lstrip())]
        if not text.strip().startswith("line_") or chance < 0.6:
            lines.append((text, owner))
        elif chance < 0.8:
            lines.append(("    " + text if len(indent) < 8 else text.strip(), owner))
        elif chance < 0.9 and "(" in text and ", tail_" in text:
            head, _, tail = text.partition("(")
            lines += [(f"{head}(", owner), (f"{indent}    {tail}", owner)]
            for part in lines[-2:]:
                world.wrote(part[0], *world.writers.get("".join(text.split()), ()))
        else:
            lines.append((text.replace(" = ", "  =  ") if " = " in text else text, owner))
    return lines
