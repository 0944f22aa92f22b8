/** A row of the conversation. */

import { useEffect } from "preact/hooks";
import { Content, PlainText } from "./content-view";
import { Changes, Diff } from "./diff-view";
import { type Detail, type PageState, placesOf, rawKey } from "./page-state";
import type { PageRow } from "./protocol";
import { describeOutcome, describeSpeaker, isPrompt, shownParts } from "./rows";
import { makeVisible } from "./text";
import { formatTime } from "./time";

const TITLES = { user: "", assistant: "Assistant", reasoning: "Reasoning", tool: "", event: "Event" } as const;
const DIFF_LINES = { brief: 0, normal: 12, full: Infinity };
const OUTPUT_LINES = 40;

/** Lines of a file, such as "lines 3–7". */
export interface WrittenLines {
  path: string;
  lines: string;
}

interface Props {
  row: PageRow;
  state: PageState;
  /** Whether the reader opened or closed the row; undefined if neither. */
  open: boolean | undefined;
  toggle: () => void;
  /** Whether the row also shows its entry as JSON. */
  raw: boolean;
  toggleRaw: () => void;
  /** The lines of files that the row wrote. */
  wrote: WrittenLines[];
  showFile: (path: string) => void;
}

/** Return whether a row is open before the reader opens or closes it. */
export function isOpenAtFirst(row: PageRow, detail: Detail): boolean {
  if (isPrompt(row) || row.kind === "assistant") return true;
  return detail === "full" || (row.kind === "tool" && row.isError && detail === "normal");
}

/** A row: its head and, if it is open, its content. */
export function RowView(props: Props) {
  const { row, state } = props;
  const open = props.open ?? isOpenAtFirst(row, state.detail);
  const body = `body-${row.session}${row.place}`;
  return (
    <>
      <Head {...props} opened={open} body={body} />
      <div class="body" id={body}>
        {row.kind === "tool" ? (
          <Call {...props} opened={open} />
        ) : (
          open &&
          row.kind !== "event" && (
            <Content
              parts={shownParts(row)}
              marked={row.kind === "assistant"}
              lines={row.kind === "reasoning" ? OUTPUT_LINES : undefined}
            />
          )
        )}
        {props.raw && <Raw {...props} />}
      </div>
    </>
  );
}

/** The line at the top of a row: kind or tool, summary, marks, the button for JSON, and a link with the time. */
function Head({ row, toggle, raw, toggleRaw, opened, body }: Props & { opened: boolean; body: string }) {
  const folds = row.kind === "tool" || row.kind === "reasoning" || (row.kind === "user" && !isPrompt(row));
  const title = (
    <>
      {TITLES[row.kind] && <span class="who">{TITLES[row.kind]}</span>}
      {row.kind === "user" && <span class="who">{describeSpeaker(row)}</span>}
      {row.kind === "tool" && <span class="tool">{makeVisible(row.tool) || "result without a call"}</span>}
      {row.summary && <span class="summary">{makeVisible(row.summary)}</span>}
      {row.reason && <span class="summary">{makeVisible(row.reason)}</span>}
      {row.kind === "reasoning" && !opened && <span class="summary">{previewText(row) || "encrypted by the provider"}</span>}
      {row.kind === "user" && folds && !opened && <span class="summary">{previewText(row)}</span>}
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
      <button type="button" class="json" aria-pressed={raw} aria-label="Entry as JSON" onClick={toggleRaw}>
        {"{}"}
      </button>
      <a class="when" href={`#${encodeURIComponent(row.anchor)}`} aria-label={`Link to this entry, ${formatTime(row.time)}`}>
        {formatTime(row.time) || "#"}
      </a>
    </div>
  );
}

/** The head above the calls of a model that said nothing before them: who makes them. */
export function AssistantHead({ row }: { row: PageRow }) {
  return (
    <div class="head silent">
      <span class="title">
        <span class="who">{TITLES.assistant}</span>
      </span>
      <span class="marks">{row.model && <span class="chip model">{makeVisible(row.model)}</span>}</span>
    </div>
  );
}

/** Return the beginning of a thought or a message; "" if it has no text. A thought without text was encrypted. */
function previewText(row: PageRow): string {
  const text = row.parts.find((part) => part.is === "text");
  return text?.is === "text" ? makeVisible(text.text.slice(0, 160)).replaceAll("\n", " ") : "";
}

/** Marks of a row: changed lines, failure, missing result, origin, model. */
function Marks({ row }: { row: PageRow }) {
  return (
    <span class="marks">
      {row.diffs.length > 0 && <Changes diffs={row.diffs} />}
      {row.isError && <span class="chip error">failed</span>}
      {describeOutcome(row) && <span class="chip">{makeVisible(describeOutcome(row))}</span>}
      {row.isInherited && <span class="chip">inherited</span>}
      {row.superseded && <span class="chip">{makeVisible(row.superseded)}</span>}
      {row.model && row.kind === "assistant" && <span class="chip model">{makeVisible(row.model)}</span>}
    </span>
  );
}

/** The body of a tool call: diffs and the lines it wrote and, if it is open, inputs and output. */
function Call({ row, state, opened, wrote, showFile }: Props & { opened: boolean }) {
  const output = row.result?.parts ?? row.parts;
  return (
    <>
      {(opened || state.detail !== "brief") &&
        row.diffs.map((diff) => (
          <Diff
            diff={diff}
            named={row.diffs.length > 1 || diff.path !== row.summary}
            maxLines={opened ? 200 : DIFF_LINES[state.detail]}
          />
        ))}
      {wrote.length > 0 && (
        <div class="wrote">
          {wrote.map(({ path, lines }) => (
            <button type="button" class="chip link" onClick={() => showFile(path)}>
              wrote {makeVisible(path)} {lines}
            </button>
          ))}
        </div>
      )}
      {opened && row.tool && !row.diffs.length && <Inputs row={row} state={state} />}
      {opened && output.length > 0 && (
        <div class="output" role="group" aria-label="Output">
          <Content parts={output} lines={OUTPUT_LINES} />
        </div>
      )}
    </>
  );
}

/** The inputs of a call, without the input that the summary already shows in full. */
function Inputs({ row, state }: Pick<Props, "row" | "state">) {
  const inputs = state.inputs.get(rawKey(row.session, [row.place]));
  useEffect(() => {
    if (!inputs) state.requestInputs(row);
  }, [row]);
  const shown = inputs?.filter(([, text]) => text !== row.summary) ?? [];
  return shown.length > 0 ? (
    <div class="output" role="group" aria-label="Input">
      {shown.map(([name, text]) => (
        <>
          {name && <div class="member">{makeVisible(name)}</div>}
          <PlainText text={text} lines={OUTPUT_LINES} />
        </>
      ))}
    </div>
  ) : null;
}

/** The entry as JSON. */
function Raw({ row, state }: Props) {
  const text = state.raw.get(rawKey(row.session, placesOf(row)));
  return (
    <div class="output" role="group" aria-label="Entry as JSON">
      {text === undefined ? "Reading …" : <Content parts={[{ is: "text", text }]} lines={OUTPUT_LINES} />}
    </div>
  );
}
