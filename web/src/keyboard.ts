/** Keyboard shortcuts, and their descriptions for the help. */

import { useLayoutEffect } from "preact/hooks";
import type { PageState } from "./page-state";
import { isPrompt } from "./rows";
import type { Item, ItemList } from "./turns";

/** Keys and their effects. */
export const KEYS: [string, string][] = [
  ["j, k", "next item, previous item"],
  ["], [", "next prompt, previous prompt"],
  ["e", "next failure"],
  ["Enter, o", "open or close the item"],
  ["/", "search"],
  ["f", "show the files, or go back"],
  ["g, G", "first item, last item"],
  ["Esc", "leave the search or close this help"],
  ["?", "show this help"],
];

interface Props {
  state: PageState;
  list: ItemList;
  /** The key of the selected item, or "". */
  selected: string;
  go: (item: Item | undefined) => void;
  /** Go to a row, and open the groups around it. */
  reveal: (row: number) => void;
  toggle: (item: Item) => void;
  /** Put the focus into the search field. */
  search: () => void;
  help: () => void;
  files: () => void;
}

/** Handle the shortcuts while the page is shown, except in text fields, in dialogs and with Ctrl, Alt or Meta. */
export function useKeyboard({ state, list, selected, go, reveal, toggle, search, help, files }: Props): void {
  const { shown, rows } = state;
  const { items } = list;
  const position = list.positions.get(selected) ?? -1;
  const current = items[position] as Item | undefined;
  /** Go to the next or previous item that matches a condition. */
  const move = (step: 1 | -1, wanted: (item: Item) => boolean) => {
    let at = position < 0 && step < 0 ? items.length : position;
    for (at += step; at >= 0 && at < items.length; at += step) if (wanted(items[at])) return go(items[at]);
  };
  /** Go to the next failure, also inside a closed group. */
  const findFailure = () => {
    const isClosed = current !== undefined && current.is !== "row" && !current.open;
    const from = current === undefined ? 0 : shown.indexOf(isClosed ? current.members[0] : current.at) + (isClosed ? 0 : 1);
    const row = shown.slice(from).find((at) => rows[at].isError);
    if (row !== undefined) reveal(row);
  };
  const isTurn = (item: Item) => item.is === "row" && isPrompt(rows[item.at]);
  const keys: Record<string, () => void> = {
    j: () => move(1, () => true),
    k: () => move(-1, () => true),
    "]": () => move(1, isTurn),
    "[": () => move(-1, isTurn),
    e: findFailure,
    o: () => current && toggle(current),
    Enter: () => current && toggle(current),
    g: () => go(items[0]),
    G: () => go(items[items.length - 1]),
    "/": search,
    f: files,
    "?": help,
  };
  // Before the next paint: a second key that follows at once must act on the new selection.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target.matches("input[type=search]")) target.blur();
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (/^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      // On a focused button or link, Enter keeps its usual effect.
      if (event.key === "Enter" && /^(?:BUTTON|A)$/.test(target.tagName)) return;
      const action = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}
