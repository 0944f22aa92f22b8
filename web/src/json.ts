/** JSON: read with all digits of large numbers, and written canonically (RFC 8785). */

import type { Bytes } from "./bytes";
import { decode, plain, RECORD, Tag } from "./cbor";

export type Value = any; // eslint-disable-line -- a record is an open map of any values

const LARGE = /[[:,\s-]\d{16}/;
const SURROGATE = /\\u[dD][89a-fA-F]/;
const LONE = /\p{Cs}/u;
const RECORD_TAG = 4149;

/** Read a record, in JSON or CBOR; the bytes tell which it is. */
export function readRecord(data: Bytes): Value {
  if (!data.length) throw new Error("empty: there is nothing to read");
  if (data[0] >= 0x80) {
    const value = decode(data, RECORD);
    return plain(value instanceof Tag && value.tag === RECORD_TAG ? value.value : value);
  }
  return parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data));
}

/**
 * Read JSON as Python does. What the browser reads fast is right where it gives the same text again; else a number may have more digits than
 * a double holds, or a member occur twice, and it is read slowly and exactly.
 */
export function parse(text: string): Value {
  if (!LARGE.test(text) && !SURROGATE.test(text)) {
    const value = JSON.parse(text);
    if (JSON.stringify(value) === text) return value;
  }
  return new Exact(text).whole();
}

/** Write a value canonically; large numbers with all their digits, bytes in hexadecimal. */
export function canonical(value: Value): string {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return `"h'${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")}'"`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.keys(value)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
      .join(",")}}`;
  return JSON.stringify(value) ?? "null";
}

/** Write a value for people, each member in a line. */
export function pretty(value: Value, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length)
    return `[\n${value.map((item) => deeper + pretty(item, deeper)).join(",\n")}\n${indent}]`;
  if (value !== null && typeof value === "object" && !(value instanceof Uint8Array) && !Array.isArray(value)) {
    const names = Object.keys(value);
    if (names.length)
      return `{\n${names.map((name) => `${deeper}${JSON.stringify(name)}: ${pretty(value[name], deeper)}`).join(",\n")}\n${indent}}`;
  }
  return canonical(value);
}

class Exact {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Value {
    const value = this.value();
    this.blanks();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private value(): Value {
    this.blanks();
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.list();
    if (first === '"') return this.string();
    return this.scalar();
  }

  private object(): Value {
    const object = {};
    for (let end = this.opened("}"); !end; end = this.closed("}")) {
      this.blanks();
      const name = this.string();
      this.blanks();
      if (this.text[this.at++] !== ":") this.fail();
      if (Object.hasOwn(object, name)) throw new SyntaxError(`member ${name} occurs more than once`);
      Object.defineProperty(object, name, { value: this.value(), enumerable: true, writable: true, configurable: true });
    }
    return object;
  }

  private list(): Value[] {
    const items: Value[] = [];
    for (let end = this.opened("]"); !end; end = this.closed("]")) items.push(this.value());
    return items;
  }

  private opened(close: string): boolean {
    this.at++;
    this.blanks();
    if (this.text[this.at] !== close) return false;
    this.at++;
    return true;
  }

  private closed(close: string): boolean {
    this.blanks();
    const found = this.text[this.at++];
    if (found !== close && found !== ",") this.fail();
    return found === close;
  }

  private string(): string {
    const start = this.at;
    if (this.text[start] !== '"') this.fail();
    for (let end = this.text.indexOf('"', start + 1); end >= 0; end = this.text.indexOf('"', end + 1)) {
      let before = end;
      while (this.text[before - 1] === "\\") before--;
      if ((end - before) % 2) continue;
      this.at = end + 1;
      const text = JSON.parse(this.text.slice(start, end + 1));
      if (LONE.test(text)) throw new SyntaxError(`a lone surrogate at character ${start}`);
      return text;
    }
    return this.fail();
  }

  private scalar(): Value {
    const found = /(?:true|false|null|-?\d[\d.eE+-]*)/y;
    found.lastIndex = this.at;
    const text = found.exec(this.text)?.[0];
    if (text === undefined) return this.fail();
    this.at += text.length;
    const value = JSON.parse(text);
    if (typeof value === "number" && !Number.isFinite(value) && !/^-?\d+$/.test(text))
      throw new SyntaxError(`number out of range at character ${this.at}`);
    return typeof value === "number" && /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
  }

  private blanks(): void {
    while (" \n\r\t".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private fail(): never {
    throw new SyntaxError(`not JSON at character ${this.at}`);
  }
}
