/** One row of the conversation. */

import { useEffect } from "preact/hooks";
import { counts, Diff } from "./diff";
import type { Shown } from "./protocol";
import { Plain, Said } from "./said";
import { type Detail, placesOf, rawKey, type State } from "./state";
import { visible } from "./texts";
import { timeText } from "./times";

const HEADS = { user: "User", assistant: "Assistant", reasoning: "Thought", tool: "", event: "Event" } as const;
const DIFF_LINES = { brief: 0, normal: 12, full: Infinity };
const OUTPUT_LINES = 40;

export interface Wrote {
  path: string;
  lines: string;
}

interface Given {
  row: Shown;
  state: State;
  /** Whether it was opened or closed by hand. */
  open: boolean | undefined;
  toggle: () => void;
  /** Whether the entry is shown as JSON, too. */
  raw: boolean;
  toggleRaw: () => void;
  /** Which lines of which files it wrote. */
  wrote: Wrote[];
  showFile: (path: string) => void;
}

/** Tell whether a row is open, unless somebody opened or closed it. */
export function isOpen(row: Shown, detail: Detail): boolean {
  if (row.kind === "user" || row.kind === "assistant") return true;
  return detail === "full" || (row.kind === "tool" && row.isError && detail === "normal");
}

export function RowView(given: Given) {
  const { row, state } = given;
  const open = given.open ?? isOpen(row, state.detail);
  const body = `body-${row.session}${row.place}`;
  return (
    <>
      <Head {...given} opened={open} body={body} />
      <div class="body" id={body}>
        {row.kind === "tool" ? (
          <Call {...given} opened={open} />
        ) : (
          open &&
          row.kind !== "event" && (
            <Said
              parts={row.parts}
              marked={row.kind === "assistant"}
              lines={row.kind === "reasoning" ? OUTPUT_LINES : undefined}
            />
          )
        )}
        {given.raw && <Raw {...given} />}
      </div>
    </>
  );
}

function Head({ row, toggle, raw, toggleRaw, opened, body }: Given & { opened: boolean; body: string }) {
  const folds = row.kind === "tool" || row.kind === "reasoning";
  const title = (
    <>
      {HEADS[row.kind] && <span class="who">{HEADS[row.kind]}</span>}
      {row.kind === "tool" && <span class="tool">{visible(row.tool) || "a result without its call"}</span>}
      {row.summary && <span class="summary">{visible(row.summary)}</span>}
      {row.kind === "reasoning" && !opened && <span class="summary">{preview(row)}</span>}
    </>
  );
  return (
    <div class="head">
      {folds ? (
        <button type="button" class="fold" aria-expanded={opened} aria-controls={body} onClick={toggle}>
          {title}
        </button>
      ) : (
        <span class="title">{title}</span>
      )}
      <Marks row={row} />
      <button type="button" class="json" aria-pressed={raw} aria-label="The entry as JSON" onClick={toggleRaw}>
        {"{}"}
      </button>
      <a class="when" href={`#${encodeURIComponent(row.anchor)}`} aria-label={`Link to this entry, ${timeText(row.time)}`}>
        {timeText(row.time) || "#"}
      </a>
    </div>
  );
}

function preview(row: Shown): string {
  const text = row.parts.find((part) => part.is === "text");
  return text?.is === "text" ? visible(text.text.slice(0, 160)).replaceAll("\n", " ") : "sealed by its maker";
}

function Marks({ row }: { row: Shown }) {
  const [added, removed] = counts(row.diffs);
  return (
    <span class="marks">
      {row.diffs.length > 0 && (
        <>
          <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
        </>
      )}
      {row.isError && <span class="chip error">failed</span>}
      {row.kind === "tool" && row.tool && !row.result && <span class="chip">no result</span>}
      {row.isInjected && <span class="chip">from the agent</span>}
      {row.isInherited && <span class="chip">inherited</span>}
      {row.superseded && <span class="chip">{visible(row.superseded)}</span>}
      {row.model && row.kind === "assistant" && <span class="chip model">{visible(row.model)}</span>}
    </span>
  );
}

function Call({ row, state, opened, wrote, showFile }: Given & { opened: boolean }) {
  const printed = row.result?.parts ?? row.parts;
  return (
    <>
      {(opened || state.detail !== "brief") &&
        row.diffs.map((diff) => (
          <Diff
            diff={diff}
            named={row.diffs.length > 1 || diff.path !== row.summary}
            most={opened ? 200 : DIFF_LINES[state.detail]}
          />
        ))}
      {wrote.length > 0 && (
        <div class="wrote">
          {wrote.map((one) => (
            <button type="button" class="chip link" onClick={() => showFile(one.path)}>
              wrote {visible(one.path)} {one.lines}
            </button>
          ))}
        </div>
      )}
      {opened && row.tool && !row.diffs.length && <Inputs row={row} state={state} />}
      {opened && printed.length > 0 && (
        <div class="output" role="group" aria-label="Output">
          <Said parts={printed} lines={OUTPUT_LINES} />
        </div>
      )}
    </>
  );
}

/** What a call was given, but for what its line says whole. */
function Inputs({ row, state }: Pick<Given, "row" | "state">) {
  const inputs = state.inputs.get(rawKey(row.session, [row.place]));
  useEffect(() => {
    if (!inputs) state.askInputs(row);
  }, [row]);
  const told = inputs?.filter(([, text]) => text !== row.summary) ?? [];
  return told.length > 0 ? (
    <div class="output" role="group" aria-label="Input">
      {told.map(([name, text]) => (
        <>
          {name && <div class="member">{visible(name)}</div>}
          <Plain text={text} lines={OUTPUT_LINES} />
        </>
      ))}
    </div>
  ) : null;
}

/** The entry as the record has it, for those who ask. */
function Raw({ row, state }: Given) {
  const text = state.raw.get(rawKey(row.session, placesOf(row)));
  return (
    <div class="output" role="group" aria-label="The entry as JSON">
      {text === undefined ? "Reading …" : <Said parts={[{ is: "text", text }]} lines={OUTPUT_LINES} />}
    </div>
  );
}
