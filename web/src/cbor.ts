/**
 * CBOR, read strictly and written deterministically. Follows RFC 8949 sections 3 and 4.2.1.
 *
 * Refused is what readers disagree about: indefinite lengths, repeated keys, bytes after the item, text that is not UTF-8, heads
 * that are longer than need be (where only the shortest are asked for).
 */

import { type Bytes, joined } from "./bytes";

export class Tag {
  constructor(
    readonly tag: number,
    readonly value: unknown,
  ) {}
}

export class Malformed extends Error {}

export interface Limits {
  depth: number;
  items: number;
  shortest: boolean;
}

/** What a record may be at most. */
export const RECORD: Limits = { depth: 500, items: Infinity, shortest: false };

const LONG: Record<number, number> = { 24: 1, 25: 2, 26: 4, 27: 8 };
const LEAST: Record<number, bigint> = { 24: 24n, 25: 1n << 8n, 26: 1n << 16n, 27: 1n << 32n };
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Read one item; maps come as `Map`. */
export function decode(data: Bytes, limits: Limits): unknown {
  const reader = new Reader(data, limits);
  const value = reader.item(0);
  if (reader.at !== data.length) throw new Malformed(`${data.length - reader.at} more bytes after the item`);
  return value;
}

class Reader {
  at = 0;
  private left: number;
  private readonly view: DataView;

  constructor(
    private readonly data: Bytes,
    private readonly limits: Limits,
  ) {
    this.left = limits.items;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  item(depth: number): unknown {
    if (--this.left < 0) throw new Malformed("more items than are read");
    const head = this.take(1)[0];
    const major = head >> 5;
    const info = head & 31;
    if (depth >= this.limits.depth && major >= 4 && major <= 6) throw new Malformed("nested too deep");
    if (major === 7) return this.simple(info);
    const argument = this.argument(info);
    switch (major) {
      case 0:
        return argument;
      case 1:
        return typeof argument === "number" && argument < Number.MAX_SAFE_INTEGER ? -1 - argument : -1n - BigInt(argument);
      case 2:
        return this.take(Number(argument)).slice();
      case 3:
        return this.text(Number(argument));
      case 4:
        return this.list(this.count(argument), depth);
      case 5:
        return this.map(this.count(argument), depth);
    }
    return this.tagged(Number(argument), depth);
  }

  private take(count: number): Bytes {
    if (count > this.data.length - this.at) throw new Malformed(`${count} bytes announced, ${this.data.length - this.at} left`);
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }

  private argument(info: number): number | bigint {
    if (info < 24) return info;
    if (!(info in LONG)) throw new Malformed(info === 31 ? "indefinite length" : `reserved head ${info}`);
    let value = 0n;
    for (const byte of this.take(LONG[info])) value = (value << 8n) | BigInt(byte);
    if (this.limits.shortest && value < LEAST[info]) throw new Malformed("a head that is longer than need be");
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  private count(argument: number | bigint): number {
    if (argument > this.data.length - this.at) throw new Malformed(`${argument} items announced, fewer bytes left`);
    return Number(argument);
  }

  private text(length: number): string {
    try {
      return UTF8.decode(this.take(length));
    } catch (error) {
      throw error instanceof Malformed ? error : new Malformed("text that is not UTF-8");
    }
  }

  private list(count: number, depth: number): unknown[] {
    return Array.from({ length: count }, () => this.item(depth + 1));
  }

  private map(count: number, depth: number): Map<unknown, unknown> {
    const members = new Map<unknown, unknown>();
    const seen = new Set<unknown>();
    for (let left = count; left > 0; left--) {
      const start = this.at;
      const key = this.item(depth + 1);
      // 1, 1.0 and true are three keys in CBOR and one in Python; keys that are no plain values are compared as written.
      const plain = typeof key === "boolean" || key instanceof Float ? Number(key) : key;
      const same = plain !== null && typeof plain === "object" ? `\0${this.data.subarray(start, this.at).join()}` : plain;
      if (seen.has(same)) throw new Malformed("a key occurs more than once");
      seen.add(same);
      members.set(key, this.item(depth + 1));
    }
    return members;
  }

  private tagged(tag: number, depth: number): unknown {
    const value = this.item(depth + 1);
    if ((tag !== 2 && tag !== 3) || !(value instanceof Uint8Array)) return new Tag(tag, value);
    if (this.limits.shortest) throw new Malformed("a big number");
    let number = 0n;
    for (const byte of value) number = (number << 8n) | BigInt(byte);
    return tag === 2 ? number : -1n - number;
  }

  private simple(info: number): unknown {
    if (info === 20 || info === 21) return info === 21;
    if (info === 22) return null;
    if (info === 23) return undefined;
    if (info < 25 || info > 27) throw new Malformed(`simple value ${info}`);
    const start = this.at;
    this.take(LONG[info]);
    const value =
      info === 27 ? this.view.getFloat64(start) : info === 26 ? this.view.getFloat32(start) : half(this.view.getUint16(start));
    if (!Number.isFinite(value)) throw new Malformed(`${value} is not a number a record can hold`);
    return new Float(value);
  }
}

/** A number that was written as a float: `1.0` is no label, where `1` is. */
export class Float extends Number {}

function half(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction
          ? NaN
          : Infinity
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

/** Turn maps into objects, as a record has them; keys that are no text are written as one. */
export function plain(value: unknown): unknown {
  if (value instanceof Float) return value.valueOf();
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Tag) return { tag: value.tag, value: plain(value.value) };
  if (!(value instanceof Map)) return value;
  const object = {};
  for (const [key, item] of value) {
    // A member named `__proto__` is a member like any other.
    Object.defineProperty(object, String(key), { value: plain(item), enumerable: true, writable: true, configurable: true });
  }
  return object;
}

export function head(major: number, argument: number): Bytes {
  if (argument < 24) return Uint8Array.of((major << 5) | argument);
  if (argument < 0x100) return Uint8Array.of((major << 5) | 24, argument);
  const bytes = new Uint8Array(argument < 0x10000 ? 3 : 5);
  bytes[0] = (major << 5) | (argument < 0x10000 ? 25 : 26);
  if (bytes.length === 3) new DataView(bytes.buffer).setUint16(1, argument);
  else new DataView(bytes.buffer).setUint32(1, argument);
  return bytes;
}

export function byteString(data: Bytes): Bytes {
  return joined(head(2, data.length), data);
}

export function textString(text: string): Bytes {
  const data = new TextEncoder().encode(text);
  return joined(head(3, data.length), data);
}
