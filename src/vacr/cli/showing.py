"""The filters that verbs take which show or export conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vacr.viewer import ROW_KINDS, RowFilter

FilteredCommand = TypeVar("FilteredCommand", bound=Callable[..., Any])


def filter_options(function: FilteredCommand) -> FilteredCommand:
    """Add to a verb what says which rows it takes."""
    for option in (
        click.option(
            "--entry",
            metavar="ID|POINTER",
            multiple=True,
            help="Only this entry; may be given again.",
        ),
        click.option("--errors", is_flag=True, help="Only what failed."),
        click.option(
            "--grep",
            metavar="TEXT",
            default="",
            help="Only what has this text in it, in any case of letters.",
        ),
        click.option(
            "--tool",
            metavar="NAME",
            multiple=True,
            help="Only the calls of this tool; may be given again.",
        ),
        click.option(
            "--only",
            type=click.Choice(ROW_KINDS),
            multiple=True,
            help="Only this kind of rows; may be given again.",
        ),
    ):
        function = option(function)
    return function


def build_filter(
    *, only: tuple[str, ...], tool: tuple[str, ...], grep: str, errors: bool, entry: tuple[str, ...]
) -> RowFilter:
    """Give what the options ask for."""
    return RowFilter(frozenset(only), frozenset(tool), grep, errors, frozenset(entry))
