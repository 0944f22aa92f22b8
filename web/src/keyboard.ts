/** The keys: j and k, ] and [, / and ?, and what is told in the help. */

import { useEffect } from "preact/hooks";
import type { State } from "./state";

export const KEYS: [string, string][] = [
  ["j, k", "next row, row before"],
  ["], [", "next prompt, prompt before"],
  ["e", "next failure"],
  ["Enter, o", "open or close a row"],
  ["/", "search"],
  ["f", "files, and back"],
  ["g, G", "first row, last row"],
  ["Esc", "leave the search or this help"],
  ["?", "this help"],
];

interface Given {
  state: State;
  selected: number;
  go: (row: number) => void;
  toggle: (row: number) => void;
  search: { current: HTMLInputElement | null };
  help: () => void;
  files: () => void;
}

export function useKeys({ state, selected, go, toggle, search, help, files }: Given): void {
  const { shown, rows } = state;
  /** Go to the nearest row that is shown, from the one that is selected on, for which something holds. */
  const move = (step: 1 | -1, wanted: (row: number) => boolean) => {
    let position = shown.indexOf(selected);
    if (position < 0) position = step > 0 ? -1 : shown.length;
    for (position += step; position >= 0 && position < shown.length; position += step)
      if (wanted(shown[position])) return go(shown[position]);
  };
  const keys: Record<string, () => void> = {
    j: () => move(1, () => true),
    k: () => move(-1, () => true),
    "]": () => move(1, (row) => rows[row].kind === "user" && !rows[row].isInjected),
    "[": () => move(-1, (row) => rows[row].kind === "user" && !rows[row].isInjected),
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
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target === search.current) search.current?.blur();
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (/^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      // What has the focus and does something of its own on Enter keeps it.
      if (event.key === "Enter" && /^(?:BUTTON|A)$/.test(target.tagName)) return;
      const action = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
