/** Something said or printed: as text, as Markdown, as a picture, as a value. All of it is others' and can do nothing here. */

import { useMemo, useState } from "preact/hooks";
import { pretty } from "./json";
import { markdown } from "./markdown";
import type { Part } from "./parts";
import { visible } from "./texts";

const LONGEST = 12_000;
const MOST_LINES = 200;
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

interface Cut {
  text: string;
  left: number;
}

/** Cut what would be slow to lay out. */
function cut(text: string, lines = MOST_LINES): Cut {
  let end = Math.min(text.length, LONGEST);
  let at = -1;
  for (let line = 0; line < lines; line++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at >= end) break;
    if (line === lines - 1) end = at;
  }
  return { text: text.slice(0, end), left: text.length - end };
}

export function More({ left, onClick }: { left: number; onClick: () => void }) {
  return left > 0 ? (
    <button type="button" class="more" onClick={onClick}>
      Show {left.toLocaleString("en")} more characters
    </button>
  ) : null;
}

export function Plain({ text, lines, look = "plain" }: { text: string; lines?: number; look?: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? { text, left: 0 } : cut(text, lines);
  return (
    <>
      <div class={look}>{visible(shown.text)}</div>
      <More left={shown.left} onClick={() => setWhole(true)} />
    </>
  );
}

function Marked({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? { text, left: 0 } : cut(text);
  const html = useMemo(() => markdown(visible(shown.text)), [shown.text]);
  return (
    <>
      <div class="marked" dangerouslySetInnerHTML={{ __html: html }} />
      <More left={shown.left} onClick={() => setWhole(true)} />
    </>
  );
}

function Picture({ part }: { part: Part & { is: "image" } }) {
  const name = visible(part.name || part.mediaType || "of no type");
  if (PICTURES.test(part.mediaType) && BASE64.test(part.data))
    return <img class="picture" alt={`Picture ${name}`} src={`data:${part.mediaType};base64,${part.data}`} />;
  const where = part.data
    ? `${Math.floor((part.data.length * 3) / 4).toLocaleString("en")} bytes, not shown`
    : visible(part.address).slice(0, 500);
  return (
    <div class="note">
      Picture {name}: {where}
    </div>
  );
}

export function Said({ parts, marked = false, lines }: { parts: Part[]; marked?: boolean; lines?: number }) {
  return (
    <>
      {parts.map((part) => {
        if (part.is === "image") return <Picture part={part} />;
        if (part.is === "other") return <Plain text={`[${part.kind}] ${pretty(part.value)}`} lines={lines} look="printed" />;
        return marked ? <Marked text={part.text} /> : <Plain text={part.text} lines={lines} />;
      })}
    </>
  );
}
