/** JSON: read without losing digits of large numbers, and written in canonical form (RFC 8785) or indented. */

import type { Bytes } from "./bytes";
import { decodeCbor, RECORD_LIMITS, Tag, toPlainObjects } from "./cbor";

export type Value = any; // A record may contain any value anywhere.

const LARGE = /[[:,\s-]\d{16}/;
const SURROGATE = /\\u[dD][89a-fA-F]/;
const LONE_SURROGATE = /\p{Cs}/u;
const RECORD_TAG = 4149;

/** Return whether a value is an object with members; arrays and byte strings are not. */
export function isObject(value: Value): boolean {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Read a record in JSON or CBOR, by its first byte; throws an Error if it is neither. */
export function readRecord(data: Bytes): Value {
  if (!data.length) throw new Error("The record is empty");
  if (data[0] >= 0x80) {
    const value = decodeCbor(data, RECORD_LIMITS);
    return toPlainObjects(value instanceof Tag && value.tag === RECORD_TAG ? value.value : value);
  }
  return parseJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data));
}

/**
 * Parse JSON exactly as Python does.
 *
 * The browser's parser is fast, and its result is right if it serializes to the same text again. If it does not, a number may have
 * more digits than a double keeps, or a member may occur twice: then the slow, exact parser below decides.
 */
export function parseJson(text: string): Value {
  if (!LARGE.test(text) && !SURROGATE.test(text)) {
    const value = JSON.parse(text);
    if (JSON.stringify(value) === text) return value;
  }
  return new ExactParser(text).parseAll();
}

/** Serialize a value in canonical form; large numbers keep all digits, and bytes are written in hexadecimal. */
export function canonicalJson(value: Value): string {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return `"h'${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")}'"`;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.keys(value)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
      .join(",")}}`;
  return JSON.stringify(value) ?? "null";
}

/** Serialize a value for people: indented, one member per line. */
export function prettyJson(value: Value, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length)
    return `[\n${value.map((item) => deeper + prettyJson(item, deeper)).join(",\n")}\n${indent}]`;
  if (value !== null && typeof value === "object" && !(value instanceof Uint8Array) && !Array.isArray(value)) {
    const names = Object.keys(value);
    if (names.length)
      return `{\n${names.map((name) => `${deeper}${JSON.stringify(name)}: ${prettyJson(value[name], deeper)}`).join(",\n")}\n${indent}}`;
  }
  return canonicalJson(value);
}

/** Return the value at a JSON Pointer, or undefined. */
export function resolvePointer(record: Value, pointer: string): Value {
  return pointer
    .split("/")
    .slice(1)
    .reduce((value, name) => value?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], record);
}

/** A JSON parser that keeps large integers as bigint, and throws a SyntaxError for members that occur twice. */
class ExactParser {
  private at = 0;

  constructor(private readonly text: string) {}

  parseAll(): Value {
    const value = this.parseValue();
    this.skipBlanks();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private parseValue(): Value {
    this.skipBlanks();
    const first = this.text[this.at];
    if (first === "{") return this.parseObject();
    if (first === "[") return this.parseList();
    if (first === '"') return this.parseString();
    return this.parseScalar();
  }

  private parseObject(): Value {
    const object = {};
    for (let end = this.isEmpty("}"); !end; end = this.reachesEnd("}")) {
      this.skipBlanks();
      const name = this.parseString();
      this.skipBlanks();
      if (this.text[this.at++] !== ":") this.fail();
      if (Object.hasOwn(object, name)) throw new SyntaxError(`member ${name} occurs more than once`);
      Object.defineProperty(object, name, { value: this.parseValue(), enumerable: true, writable: true, configurable: true });
    }
    return object;
  }

  private parseList(): Value[] {
    const items: Value[] = [];
    for (let end = this.isEmpty("]"); !end; end = this.reachesEnd("]")) items.push(this.parseValue());
    return items;
  }

  /** Skip the opening bracket; return whether the closing one follows. */
  private isEmpty(close: string): boolean {
    this.at++;
    this.skipBlanks();
    if (this.text[this.at] !== close) return false;
    this.at++;
    return true;
  }

  /** Skip a comma or the closing bracket; return whether it was the bracket. */
  private reachesEnd(close: string): boolean {
    this.skipBlanks();
    const character = this.text[this.at++];
    if (character !== close && character !== ",") this.fail();
    return character === close;
  }

  private parseString(): string {
    const start = this.at;
    if (this.text[start] !== '"') this.fail();
    for (let end = this.text.indexOf('"', start + 1); end >= 0; end = this.text.indexOf('"', end + 1)) {
      let before = end;
      while (this.text[before - 1] === "\\") before--;
      if ((end - before) % 2) continue;
      this.at = end + 1;
      const text = JSON.parse(this.text.slice(start, end + 1));
      if (LONE_SURROGATE.test(text)) throw new SyntaxError(`lone surrogate at character ${start}`);
      return text;
    }
    return this.fail();
  }

  /** Parse true, false, null or a number; an integer that a double cannot hold becomes a bigint. */
  private parseScalar(): Value {
    const pattern = /(?:true|false|null|-?\d[\d.eE+-]*)/y;
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.text)?.[0];
    if (text === undefined) return this.fail();
    this.at += text.length;
    const value = JSON.parse(text);
    if (typeof value === "number" && !Number.isFinite(value) && !/^-?\d+$/.test(text))
      throw new SyntaxError(`number out of range at character ${this.at}`);
    return typeof value === "number" && /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
  }

  private skipBlanks(): void {
    while (" \n\r\t".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private fail(): never {
    throw new SyntaxError(`invalid JSON at character ${this.at}`);
  }
}
