/** Messages and outputs as text, Markdown, images or JSON. The content is untrusted, so none of it can act on the page. */

import { useMemo, useState } from "preact/hooks";
import type { Part } from "./content-parts";
import { prettyJson, type Value } from "./json";
import { renderMarkdown } from "./markdown";
import { formatNumber, makeVisible, splitThoughts } from "./text";

const MAX_LENGTH = 12_000;
const MAX_LINES = 200;
const IMAGE_TYPES = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

interface Cut {
  text: string;
  /** The number of characters that were cut off. */
  left: number;
}

/** Cut a text after a number of lines or 12,000 characters: a long text is slow to lay out. */
function cutText(text: string, lines = MAX_LINES): Cut {
  let end = Math.min(text.length, MAX_LENGTH);
  let at = -1;
  for (let line = 0; line < lines; line++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at >= end) break;
    if (line === lines - 1) end = at;
  }
  return { text: text.slice(0, end), left: text.length - end };
}

/** A button that shows the rest of a cut text; null if nothing was cut. */
function ShowMore({ left, onClick }: { left: number; onClick: () => void }) {
  return left > 0 ? (
    <button type="button" class="more" onClick={onClick}>
      Show {formatNumber(left)} more characters
    </button>
  ) : null;
}

/** A text as it is, cut to some lines at first. */
export function PlainText({ text, lines, look = "plain" }: { text: string; lines?: number; look?: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? { text, left: 0 } : cutText(text, lines);
  return (
    <>
      <div class={look}>{makeVisible(shown.text)}</div>
      <ShowMore left={shown.left} onClick={() => setWhole(true)} />
    </>
  );
}

/** A text rendered as Markdown, cut at first. */
function MarkdownText({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const [thoughts, answer] = useMemo(() => splitThoughts(text), [text]);
  const shown = whole ? { text: answer, left: 0 } : cutText(answer);
  const html = useMemo(() => renderMarkdown(makeVisible(shown.text)), [shown.text]);
  return (
    <>
      {thoughts && (
        <details class="aside">
          <summary>Thought</summary>
          <PlainText text={thoughts} />
        </details>
      )}
      <div class="marked" dangerouslySetInnerHTML={{ __html: html }} />
      <ShowMore left={shown.left} onClick={() => setWhole(true)} />
    </>
  );
}

/** An image if the page contains it in a safe format; otherwise its size or its address as text. */
function Image({ part }: { part: Part & { is: "image" } }) {
  const name = makeVisible(part.name || part.mediaType || "without a type");
  if (IMAGE_TYPES.test(part.mediaType) && BASE64.test(part.data))
    return <img class="picture" alt={`Image ${name}`} src={`data:${part.mediaType};base64,${part.data}`} />;
  const where = part.data
    ? `${formatNumber(Math.floor((part.data.length * 3) / 4))} bytes, not shown`
    : makeVisible(part.address).slice(0, 500);
  return (
    <div class="note">
      Image {name}: {where}
    </div>
  );
}

/** Return the path or the name of an attached file; "" if it has neither. */
function nameFile(value: Value): string {
  const name = [value.path, value.filename, value.name].find((candidate) => typeof candidate === "string");
  return makeVisible(name ?? "");
}

/** A file that somebody attached to a message; its text is closed at first. */
function AttachedFile({ value }: { value: Value }) {
  const { content } = value;
  if (typeof content !== "string") return <div class="note">File {nameFile(value)}</div>;
  return (
    <details class="aside">
      <summary>File {nameFile(value)}</summary>
      <PlainText text={content} look="printed" />
    </details>
  );
}

/** The parts of a message or an output; `marked` renders texts as Markdown. */
export function Content({ parts, marked = false, lines }: { parts: Part[]; marked?: boolean; lines?: number }) {
  return (
    <>
      {parts.map((part) => {
        if (part.is === "image") return <Image part={part} />;
        if (part.is === "other" && part.kind === "file" && nameFile(part.value)) return <AttachedFile value={part.value} />;
        if (part.is === "other")
          return <PlainText text={`[${part.kind}] ${prettyJson(part.value)}`} lines={lines} look="printed" />;
        return marked ? <MarkdownText text={part.text} /> : <PlainText text={part.text} lines={lines} />;
      })}
    </>
  );
}
