/** What a content or an output says, part by part, as `vacr.viewer.parts` says it. */

import { isObject } from "./diffs";
import type { Value } from "./json";
import tables from "./tables.json";

export type Part =
  | { is: "text"; text: string }
  | { is: "image"; mediaType: string; data: string; address: string; name: string }
  | { is: "other"; kind: string; value: Value };

const TEXTS = new Set(tables.texts);
const VIEWS = new Set(tables.views);
const PRINTED = new Set(["output", "error", "stdout", "stderr", "exitCode", "exit_code"]);

export function partsOf(content: Value): Part[] {
  return blocks(content)
    .filter((block) => !hasEntry(block))
    .flatMap(part);
}

export function outputsOf(output: Value): Part[] {
  return blocks(output).flatMap(part);
}

function blocks(content: Value): Value[] {
  if (content === null || content === undefined) return [];
  return Array.isArray(content) ? content : [content];
}

function hasEntry(block: Value): boolean {
  if (!isObject(block)) return false;
  if (typeof block.type === "string") return VIEWS.has(block.type);
  return block.thought === true || tables.parts.some((name) => isObject(block[name]));
}

function part(block: Value): Part[] {
  if (typeof block === "string") return block ? [{ is: "text", text: block }] : [];
  if (!isObject(block)) return [{ is: "other", kind: typeName(block), value: block }];
  const holder = tables.parts.find((name) => isObject(block[name]));
  const response = holder === undefined ? null : (block[holder].response ?? null);
  if (response !== null) return printed(response);
  const image = imageOf(block);
  if (image) return [image];
  const text = block.text !== undefined ? block.text : block.refusal;
  if (typeof text === "string" && (TEXTS.has(block.type) || typeof block.type !== "string" || Object.keys(block).length <= 2))
    return text ? [{ is: "text", text }] : [];
  return printed(block);
}

function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return { boolean: "bool", bigint: "int" }[typeof value as string] ?? "bytes";
}

/** Give what a tool printed, of an object that has it under a usual name. */
function printed(value: Value): Part[] {
  if (!isObject(value)) return outputsOf(value);
  if (!Object.keys(value).every((name) => PRINTED.has(name)))
    return [{ is: "other", kind: "type" in value ? String(value.type) : "object", value }];
  const found = ["output", "stdout", "error", "stderr"].flatMap((name) =>
    ["", null, undefined].includes(value[name]) ? [] : outputsOf(value[name]),
  );
  const code = value.exitCode !== undefined ? value.exitCode : value.exit_code;
  return code === null || code === undefined ? found : [...found, { is: "text", text: `exit code ${code}` }];
}

function imageOf(block: Value): Part | null {
  if (block.type === "image" && isObject(block.source))
    return image(word(block.source, "media_type"), word(block.source, "data"), word(block.source, "url"));
  if (block.type === "input_image") return addressed(word(block, "image_url"));
  const held = block.inlineData !== undefined ? block.inlineData : block.inline_data;
  if (isObject(held)) return image(word(held, "mimeType") || word(held, "mime_type"), word(held, "data"), "");
  if (block.type === "file" && word(block, "mime").startsWith("image/"))
    return addressed(word(block, "url"), word(block, "mime"), word(block, "filename"));
  return null;
}

function addressed(address: string, mediaType = "", name = ""): Part {
  const comma = address.indexOf(",");
  const head = comma < 0 ? "" : address.slice(0, comma);
  if (head.startsWith("data:") && head.endsWith(";base64"))
    return image(head.slice(5, -7) || mediaType, address.slice(comma + 1), "", name);
  return image(mediaType, "", address, name);
}

function image(mediaType: string, data: string, address: string, name = ""): Part {
  return { is: "image", mediaType, data, address, name };
}

function word(block: Value, name: string): string {
  return typeof block[name] === "string" ? block[name] : "";
}
