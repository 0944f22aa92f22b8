/** A tool call in one line, as `vacr.viewer.summaries` says it. */

import { isObject, textOf } from "./diffs";
import { canonical, type Value } from "./json";
import { patchesIn } from "./patches";
import tables from "./tables.json";
import { cut, words } from "./texts";

const LONGEST = 200;

export function summaryOf(tool: string, given: Value): string {
  return cut(words(said(tool, given)).join(" "), LONGEST);
}

function said(tool: string, given: Value): string {
  if (tool.toLowerCase().includes("patch")) {
    const text = (typeof given === "string" ? given : textOf(given, tables.patches)) ?? "";
    return (
      patchesIn(text)
        .map((file) => file.to || file.path)
        .join(", ") || text
    );
  }
  if (typeof given === "string") return given;
  if (!isObject(given) || !Object.keys(given).length) return "";
  for (const names of [tables.commands, tables.sought, tables.paths]) {
    const text = textOf(given, names);
    if (text !== null) return text;
  }
  for (const name of tables.commands) if (Array.isArray(given[name])) return given[name].map(String).join(" ");
  return textOf(given, tables.telling) ?? canonical(given);
}
