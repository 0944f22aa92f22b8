/** The content of a message or the output of a call as a list of parts: texts, images and other values. Mirrors `vacr.viewer.content`. */

import { canonicalJson, isObject, type Value } from "./json";
import tables from "./tables.json";

export type Part =
  | { is: "text"; text: string }
  | { is: "image"; mediaType: string; data: string; address: string; name: string }
  | { is: "other"; kind: string; value: Value };

const TEXT_TYPES = new Set(tables.textTypes);
const ENTRY_TYPES = new Set(tables.entryTypes);
const WRAPPER_MEMBERS = new Set(tables.wrapperMembers);
const OUTPUT_MEMBERS = new Set(["output", "error", "stdout", "stderr", "exitCode", "exit_code"]);

/** Return the parts of a content, without the blocks that are entries of their own. */
export function listContentParts(content: Value): Part[] {
  return listBlocks(content)
    .filter((block) => !hasOwnEntry(block))
    .flatMap(parsePart);
}

/** Return the parts of a tool's output; empty without output. With `isJson`, a text may be the JSON of an object with the words of the tool. */
export function listOutputParts(output: Value, isJson = false): Part[] {
  const reports = isJson && typeof output === "string" ? parseJsonReports(output) : null;
  return reports ? reports.flatMap(parseReport) : listBlocks(output).flatMap(parsePart);
}

/** Return the objects of a JSON text if each of them has words of a tool, else null. */
function parseJsonReports(text: string): Value[] | null {
  if (!text.startsWith("{") && !text.startsWith("[")) return null;
  try {
    const reports = listBlocks(JSON.parse(text));
    return reports.length && reports.every(hasWrappedText) ? reports : null;
  } catch {
    return null;
  }
}

/** Return whether a value is a text or a list. */
function isTextOrList(value: Value): boolean {
  return typeof value === "string" || Array.isArray(value);
}

/** Return whether a value is an object with a text, or blocks, of a tool; never a file. */
function hasWrappedText(value: Value): boolean {
  return (
    isObject(value) &&
    value.type !== "file" &&
    tables.wrappedTexts.some((name) => Object.hasOwn(value, name) && isTextOrList(value[name]))
  );
}

/** Return the parts of an object with words of a tool: its label first, then its texts. */
function parseReport(report: Value): Part[] {
  if (Object.keys(report).every((name) => OUTPUT_MEMBERS.has(name))) return parseOutput(report);
  const label = tables.wrapperLabels.map((name) => getText(report, name)).find(Boolean);
  const texts = tables.wrappedTexts.map((name) => report[name]).filter(isTextOrList);
  const unique = texts.filter(
    (text, index) => texts.findIndex((other) => canonicalJson(other) === canonicalJson(text)) === index,
  );
  return [...(label ? [{ is: "text", text: label } as Part] : []), ...unique.flatMap((text) => listOutputParts(text))];
}

/** Return a list as it is, a single value as a list of one, and null or undefined as an empty list. */
function listBlocks(content: Value): Value[] {
  if (content === null || content === undefined) return [];
  return Array.isArray(content) ? content : [content];
}

/** Return whether a block is a tool call, a result or a thought: these are entries, too. */
export function hasOwnEntry(block: Value): boolean {
  if (!isObject(block)) return false;
  if (typeof block.type === "string") return ENTRY_TYPES.has(block.type);
  return block.thought === true || tables.partWrappers.some((name) => isObject(block[name]));
}

/** Return the parts of a block; empty for an empty text. */
function parsePart(block: Value): Part[] {
  if (typeof block === "string") return block ? [{ is: "text", text: block }] : [];
  if (!isObject(block)) return [{ is: "other", kind: nameType(block), value: block }];
  const wrapper = tables.partWrappers.find((name) => isObject(block[name]));
  const response = wrapper === undefined ? null : (block[wrapper].response ?? null);
  if (response !== null) return parseOutput(response);
  // A part of a call's content in the Agent Client Protocol.
  if (block.type === "content" && isObject(block.content)) return parsePart(block.content);
  if (isShownDiff(block)) return [{ is: "text", text: block.path }];
  const image = parseImage(block);
  if (image) return [image];
  const text = block.text !== undefined ? block.text : block.refusal;
  if (
    typeof text === "string" &&
    (TEXT_TYPES.has(block.type) || typeof block.type !== "string" || Object.keys(block).length <= 2)
  )
    return text ? [{ is: "text", text }] : [];
  return parseOutput(block);
}

/** Return whether a block shows a change, as in the Agent Client Protocol. */
export function isShownDiff(block: Value): boolean {
  return isObject(block) && block.type === "diff" && typeof block.path === "string" && typeof block.newText === "string";
}

/** Return the name of a value's type in Python. */
function nameType(value: Value): string {
  if (value === null) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return { boolean: "bool", bigint: "int" }[typeof value as string] ?? "bytes";
}

/** Return the parts of a tool's output with the usual members, such as stdout and exitCode; any other object is one part. */
function parseOutput(value: Value): Part[] {
  if (!isObject(value)) return listOutputParts(value);
  const names = Object.keys(value);
  if (!names.every((name) => OUTPUT_MEMBERS.has(name))) {
    const response = tables.responseMembers.map((name) => value[name]).find(isFilled);
    if (response !== undefined) return listOutputParts(response);
    if (names.every((name) => WRAPPER_MEMBERS.has(name)) && hasWrappedText(value)) return parseReport(value);
    return [{ is: "other", kind: "type" in value ? String(value.type) : "object", value }];
  }
  const parts = ["output", "stdout", "error", "stderr"].flatMap((name) =>
    ["", null, undefined].includes(value[name]) ? [] : listOutputParts(value[name]),
  );
  const code = value.exitCode !== undefined ? value.exitCode : value.exit_code;
  return code === null || code === undefined ? parts : [...parts, { is: "text", text: `exit code ${code}` }];
}

/** Return whether a value is a text, a list or an object that is not empty. */
function isFilled(value: Value): boolean {
  return isTextOrList(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
}

/** Return the image in a block, in the notation of any agent; null if it is not an image. */
function parseImage(block: Value): Part | null {
  if (block.type === "image" && isObject(block.source))
    return buildImage(getText(block.source, "media_type"), getText(block.source, "data"), getText(block.source, "url"));
  if (block.type === "image" && typeof block.url === "string") return parseAddress(block.url);
  if (block.type === "input_image") return parseAddress(getText(block, "image_url"));
  const inline = block.inlineData !== undefined ? block.inlineData : block.inline_data;
  if (isObject(inline))
    return buildImage(getText(inline, "mimeType") || getText(inline, "mime_type"), getText(inline, "data"), "");
  if (block.type === "file" && getText(block, "mime").startsWith("image/"))
    return parseAddress(getText(block, "url"), getText(block, "mime"), getText(block, "filename"));
  return null;
}

/** Build an image from its address; the data of a `data:` address is extracted. */
function parseAddress(address: string, mediaType = "", name = ""): Part {
  const comma = address.indexOf(",");
  const head = comma < 0 ? "" : address.slice(0, comma);
  if (head.startsWith("data:") && head.endsWith(";base64"))
    return buildImage(head.slice(5, -7) || mediaType, address.slice(comma + 1), "", name);
  return buildImage(mediaType, "", address, name);
}

function buildImage(mediaType: string, data: string, address: string, name = ""): Part {
  return { is: "image", mediaType, data, address, name };
}

/** Return a member of a block; "" if it is not a text. */
function getText(block: Value, name: string): string {
  return typeof block[name] === "string" ? block[name] : "";
}
