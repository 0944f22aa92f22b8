/** The panels around the conversation: list of prompts, facts about the session, keyboard help, theme switch. */

import { useEffect, useRef, useState } from "preact/hooks";
import { KEYS } from "./keyboard";
import type { PageState } from "./page-state";
import type { Overview, PageRow } from "./protocol";
import { isPrompt, shownParts } from "./rows";
import { makeVisible, pluralize } from "./text";
import { formatDuration } from "./time";

const MAX_PROMPTS = 1000;
const MAX_PROMPT_LENGTH = 120;

/** The list of prompts; a click goes to the prompt. */
export function Prompts({ state, go, selected }: { state: PageState; go: (row: number) => void; selected: number }) {
  const prompts = state.rows.flatMap((row, at) => (isPrompt(row) && !row.isRepeated && firstText(row) ? [at] : []));
  const current = prompts.findLast((at) => at <= selected);
  return (
    <>
      <h2>Prompts</h2>
      <ol>
        {prompts.slice(0, MAX_PROMPTS).map((at) => (
          <li class={state.rows[at].agent ? "inner" : ""}>
            <button type="button" aria-current={at === current ? "true" : undefined} onClick={() => go(at)}>
              {firstText(state.rows[at])}
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
  return text?.is === "text" ? makeVisible(text.text.trim().slice(0, MAX_PROMPT_LENGTH)).replaceAll("\n", " ") : "";
}

/** Facts about the session: agent, models, folder, time, tokens, cost and record. */
export function Facts({ overview }: { overview: Overview }) {
  const { totals } = overview;
  const [session] = overview.sessions;
  const facts: [string, string][] = [
    ["Agent", session.agent],
    ["Models", session.models.join(", ")],
    ["Folder", session.folder],
    ["Started", session.start],
    ["Duration", totals.milliseconds ? formatDuration(totals.milliseconds) : ""],
    [
      "Tokens",
      totals.input || totals.output ? `${totals.input.toLocaleString("en")} in, ${totals.output.toLocaleString("en")} out` : "",
    ],
    ["Cost", totals.cost],
    ["Calls", `${totals.calls.toLocaleString("en")}${totals.failed ? `, ${totals.failed.toLocaleString("en")} failed` : ""}`],
    ["Errors", totals.errors > totals.failed ? pluralize(totals.errors - totals.failed, "error event") : ""],
    [
      "Files",
      totals.files
        ? `${totals.files.toLocaleString("en")} edited (+${totals.added.toLocaleString("en")} -${totals.removed.toLocaleString("en")})`
        : "",
    ],
    ["Recorded by", session.recorder],
    ["Record", session.id],
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{makeVisible(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

/** The dialog with the keyboard shortcuts. */
export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
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
      <p>To link to an entry, add # and its id or JSON Pointer to the address of this page.</p>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** The button that switches between the light and the dark theme. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<"light" | "dark">(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
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
