/** The patch language of the tool `apply_patch`. Mirrors the parser in `vacr.edits`. */

/** The change of one file. */
export interface FilePatch {
  kind: "add" | "delete" | "update";
  path: string;
  /** The new path of a moved file, or null. */
  to: string | null;
  parts: { anchor: string; old: string[]; new: string[] }[];
  /** The content of an added file. */
  text: string;
}

const FILE_HEADERS = [
  ["*** Add File: ", "add"],
  ["*** Delete File: ", "delete"],
  ["*** Update File: ", "update"],
] as const;

/** Return the changes in a patch, one for each file; empty if the text has no patch. */
export function parseApplyPatch(text: string): FilePatch[] {
  const start = text.indexOf("*** Begin Patch");
  if (start < 0) return [];
  const files: FilePatch[] = [];
  for (const line of text.slice(start).split("\n").slice(1)) {
    if (line.trim() === "*** End Patch") break;
    readLine(files, line.endsWith("\r") ? line.slice(0, -1) : line);
  }
  for (const file of files) file.parts = file.parts.filter((part) => part.old.length || part.new.length);
  return files;
}

/** Read a line: start a new file, or add the line to the last one. */
function readLine(files: FilePatch[], line: string): void {
  for (const [head, kind] of FILE_HEADERS)
    if (line.startsWith(head)) {
      files.push({ kind, path: line.slice(head.length).trim(), to: null, parts: [], text: "" });
      return;
    }
  const file = files[files.length - 1];
  if (file?.kind === "add" && line.startsWith("+")) file.text += `${line.slice(1)}\n`;
  else if (file?.kind === "update") readUpdateLine(file, line);
}

/** Add a line to the update of a file: its new path, the anchor of a new part, or an old, new or unchanged line. */
function readUpdateLine(file: FilePatch, line: string): void {
  if (line.startsWith("*** Move to: ")) file.to = line.slice(13).trim();
  else if (line.startsWith("@@"))
    file.parts.push({ anchor: line[2] === " " ? line.slice(2).trim() : line.slice(2).trimEnd(), old: [], new: [] });
  else if (line.trim() !== "*** End of File") {
    if (!file.parts.length) file.parts.push({ anchor: "", old: [], new: [] });
    const part = file.parts[file.parts.length - 1];
    if (line[0] !== "+") part.old.push(line.slice(1));
    if (line[0] !== "-") part.new.push(line.slice(1));
  }
}
