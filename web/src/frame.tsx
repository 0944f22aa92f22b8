/** What is around the conversation: the prompts to jump to, the facts, help, light and dark. */

import { useEffect, useRef, useState } from "preact/hooks";
import { KEYS } from "./keyboard";
import type { Overview, Shown } from "./protocol";
import type { State } from "./state";
import { visible } from "./texts";
import { lasted } from "./times";

const MOST_PROMPTS = 1000;
const LONGEST = 120;

export function Prompts({ state, go, selected }: { state: State; go: (row: number) => void; selected: number }) {
  const all = state.rows.flatMap((row, at) =>
    row.kind === "user" && !row.isInjected && !row.isRepeated && said(row) ? [at] : [],
  );
  const current = all.findLast((at) => at <= selected);
  return (
    <>
      <h2>Prompts</h2>
      <ol>
        {all.slice(0, MOST_PROMPTS).map((at) => (
          <li class={state.rows[at].agent ? "inner" : ""}>
            <button type="button" aria-current={at === current ? "true" : undefined} onClick={() => go(at)}>
              {said(state.rows[at])}
            </button>
          </li>
        ))}
      </ol>
      {all.length > MOST_PROMPTS && <p class="note">{all.length - MOST_PROMPTS} more: search finds them.</p>}
      {state.done && !all.length && <p class="note">There are none.</p>}
    </>
  );
}

function said(row: Shown): string {
  const text = row.parts.find((part) => part.is === "text");
  return text?.is === "text" ? visible(text.text.trim().slice(0, LONGEST)).replaceAll("\n", " ") : "";
}

export function Facts({ overview }: { overview: Overview }) {
  const { totals } = overview;
  const [session] = overview.sessions;
  const told: [string, string][] = [
    ["Agent", session.agent],
    ["Models", session.models.join(", ")],
    ["Folder", session.folder],
    ["Begun", session.start],
    ["Lasted", totals.milliseconds ? lasted(totals.milliseconds) : ""],
    [
      "Tokens",
      totals.input || totals.output ? `${totals.input.toLocaleString("en")} in, ${totals.output.toLocaleString("en")} out` : "",
    ],
    ["Cost", totals.cost ? `${totals.cost.toFixed(2)} $` : ""],
    ["Calls", `${totals.calls.toLocaleString("en")}${totals.errors ? `, ${totals.errors} failed` : ""}`],
    ["Recorded by", session.recorder],
    ["Record", session.id],
  ];
  return (
    <dl class="facts">
      {told
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{visible(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

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
      <p>A link to an entry is the address of this page, #, and the id or the JSON Pointer of the entry.</p>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState<"light" | "dark">(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button type="button" class="theme" onClick={() => setTheme(other)} aria-label={`Change to ${other}`}>
      {theme === "dark" ? "☀" : "☾"}
    </button>
  );
}
