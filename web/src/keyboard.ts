/** Keyboard shortcuts, and their descriptions for the help. */

import { useEffect } from "preact/hooks";
import type { PageState } from "./page-state";
import { isPrompt } from "./rows";

/** Keys, and what they do. */
export const KEYS: [string, string][] = [
  ["j, k", "next row, previous row"],
  ["], [", "next prompt, previous prompt"],
  ["e", "next failure"],
  ["Enter, o", "open or close the row"],
  ["/", "search"],
  ["f", "show the attribution, or go back"],
  ["g, G", "first row, last row"],
  ["Esc", "leave the search or close this help"],
  ["?", "show this help"],
];

interface Props {
  state: PageState;
  selected: number;
  go: (row: number) => void;
  toggle: (row: number) => void;
  search: { current: HTMLInputElement | null };
  help: () => void;
  files: () => void;
}

/** Handle the shortcuts while the page is shown, except in text fields, in dialogs and with Ctrl, Alt or Meta. */
export function useKeyboard({ state, selected, go, toggle, search, help, files }: Props): void {
  const { shown, rows } = state;
  /** Go to the next or previous row on the page that matches a condition. */
  const move = (step: 1 | -1, wanted: (row: number) => boolean) => {
    let position = shown.indexOf(selected);
    if (position < 0) position = step > 0 ? -1 : shown.length;
    for (position += step; position >= 0 && position < shown.length; position += step)
      if (wanted(shown[position])) return go(shown[position]);
  };
  const keys: Record<string, () => void> = {
    j: () => move(1, () => true),
    k: () => move(-1, () => true),
    "]": () => move(1, (row) => isPrompt(rows[row])),
    "[": () => move(-1, (row) => isPrompt(rows[row])),
    e: () => move(1, (row) => rows[row].isError),
    o: () => selected >= 0 && toggle(selected),
    Enter: () => selected >= 0 && toggle(selected),
    g: () => go(shown[0] ?? -1),
    G: () => go(shown[shown.length - 1] ?? -1),
    "/": () => search.current?.focus(),
    f: files,
    "?": help,
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target === search.current) search.current?.blur();
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
