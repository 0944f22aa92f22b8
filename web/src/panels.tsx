/** The panels around the conversation: list of prompts, facts about the session, keyboard help, theme switch. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { KEYS } from "./keyboard";
import type { PageState } from "./page-state";
import type { PageRow } from "./protocol";
import { isPrompt, shownParts } from "./rows";
import { formatNumber, makeVisible, restoreLineEnds } from "./text";
import type { Turns } from "./turns";

const MAX_PROMPTS = 1000;
const MAX_PROMPT_LENGTH = 120;
/** As much of a prompt as its line in the list can come from. */
const MAX_PROMPT_READ = 2000;

/** The list of prompts; a click goes to the prompt. */
export function Prompts({
  state,
  turns,
  go,
  selected,
}: {
  state: PageState;
  turns: Turns;
  go: (row: number) => void;
  /** The index of the selected row, or -1. */
  selected: number;
}) {
  const prompts = state.rows.flatMap((row, at) => (isPrompt(row) && !row.isRepeated && firstText(row) ? [at] : []));
  const current = prompts.findLast((at) => at <= selected);
  return (
    <>
      <h2>Prompts</h2>
      <ol>
        {prompts.slice(0, MAX_PROMPTS).map((at) => (
          <li class={state.rows[at].agent ? "inner" : ""}>
            <button type="button" aria-current={at === current ? "true" : undefined} onClick={() => go(at)}>
              {turns.numbers.has(at) && <span class="turn">{formatNumber(turns.numbers.get(at)!)} </span>}
              <span class="cut">{firstText(state.rows[at])}</span>
            </button>
          </li>
        ))}
      </ol>
      {prompts.length > MAX_PROMPTS && <p class="note">{prompts.length - MAX_PROMPTS} more. Use the search to find them.</p>}
      {state.done && !prompts.length && <p class="note">No prompts.</p>}
    </>
  );
}

/** Return the beginning of the first text of a row, in one line; "" if it has no text. */
function firstText(row: PageRow): string {
  const text = shownParts(row).find((part) => part.is === "text");
  return text?.is === "text"
    ? makeVisible(restoreLineEnds(text.text.slice(0, MAX_PROMPT_READ)).trim().slice(0, MAX_PROMPT_LENGTH)).replaceAll("\n", " ")
    : "";
}

/** The dialog with the keyboard shortcuts. */
export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: it must not act on the page behind the dialog.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Keyboard">
      <h2>Keyboard</h2>
      <dl>
        {KEYS.map(([keys, what]) => (
          <div>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        To link to an entry, add # and its id or JSON Pointer to the address of this page. To link to the third turn, add #turn-3.
      </p>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** The button that switches between the light and the dark theme. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button type="button" class="theme" onClick={() => setTheme(other)} aria-label={`Switch to the ${other} theme`}>
      {theme === "dark" ? "☀" : "☾"}
    </button>
  );
}

/** Return the theme that the reader chose on this page, or else the theme of the system. */
function readTheme(): string {
  return document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
