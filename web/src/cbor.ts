/**
 * CBOR: a strict decoder and a deterministic encoder. Follows RFC 8949 sections 3 and 4.2.1.
 *
 * The decoder rejects input that other decoders might read differently: indefinite lengths, repeated keys, bytes after the item,
 * invalid UTF-8 and, if `shortest` is set, integers that are not in their shortest form.
 */

import { type Bytes, concatBytes } from "./bytes";

/** A tagged value, except for big numbers, which become a bigint. */
export class Tag {
  constructor(
    readonly tag: number,
    readonly value: unknown,
  ) {}
}

/** The input is not CBOR, or not in the strict form that the decoder accepts. */
export class MalformedCbor extends Error {}

export interface Limits {
  /** How deeply arrays, maps and tags may be nested. */
  depth: number;
  /** How many items the input may have in total. */
  items: number;
  /** Whether integers must be in their shortest form. */
  shortest: boolean;
}

/** Limits for a record; statements have tighter ones. */
export const RECORD_LIMITS: Limits = { depth: 500, items: Infinity, shortest: false };

/** The length of an argument in bytes, and the least value that needs it, by the low bits of the head. */
const ARGUMENT_SIZES: Record<number, number> = { 24: 1, 25: 2, 26: 4, 27: 8 };
const LEAST_VALUES: Record<number, bigint> = { 24: 24n, 25: 1n << 8n, 26: 1n << 16n, 27: 1n << 32n };
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decode one item; throws MalformedCbor. Maps become `Map` objects, floats `Float`, and large integers bigint. */
export function decodeCbor(data: Bytes, limits: Limits): unknown {
  const decoder = new Decoder(data, limits);
  const value = decoder.readItem(0);
  if (decoder.offset !== data.length) throw new MalformedCbor(`${data.length - decoder.offset} extra bytes after the item`);
  return value;
}

class Decoder {
  offset = 0;
  private itemsLeft: number;
  private readonly view: DataView;

  constructor(
    private readonly data: Bytes,
    private readonly limits: Limits,
  ) {
    this.itemsLeft = limits.items;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  /** Read the next item; `depth` counts the arrays, maps and tags around it. */
  readItem(depth: number): unknown {
    if (--this.itemsLeft < 0) throw new MalformedCbor("too many items");
    const head = this.take(1)[0];
    const major = head >> 5;
    const info = head & 31;
    if (depth >= this.limits.depth && major >= 4 && major <= 6) throw new MalformedCbor("nested too deeply");
    if (major === 7) return this.readSimple(info);
    const argument = this.readArgument(info);
    switch (major) {
      case 0:
        return argument;
      case 1:
        return typeof argument === "number" && argument < Number.MAX_SAFE_INTEGER ? -1 - argument : -1n - BigInt(argument);
      case 2:
        return this.take(Number(argument)).slice();
      case 3:
        return this.readText(Number(argument));
      case 4:
        return this.readList(this.checkCount(argument), depth);
      case 5:
        return this.readMap(this.checkCount(argument), depth);
    }
    return this.readTagged(Number(argument), depth);
  }

  /** Return the next bytes, and move past them. */
  private take(count: number): Bytes {
    const left = this.data.length - this.offset;
    if (count > left) throw new MalformedCbor(`${count} bytes expected, but only ${left} left`);
    this.offset += count;
    return this.data.subarray(this.offset - count, this.offset);
  }

  /** Read the argument of a head: a value, a length or a count; `info` are the low bits of the head. */
  private readArgument(info: number): number | bigint {
    if (info < 24) return info;
    if (!(info in ARGUMENT_SIZES))
      throw new MalformedCbor(info === 31 ? "indefinite length" : `reserved value ${info} in a head`);
    let value = 0n;
    for (const byte of this.take(ARGUMENT_SIZES[info])) value = (value << 8n) | BigInt(byte);
    if (this.limits.shortest && value < LEAST_VALUES[info]) throw new MalformedCbor("an integer is not in its shortest form");
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  /** Return the number of items of an array or map; throws if the input is too short for that many. */
  private checkCount(argument: number | bigint): number {
    if (argument > this.data.length - this.offset) throw new MalformedCbor(`${argument} items expected, but fewer bytes left`);
    return Number(argument);
  }

  private readText(length: number): string {
    try {
      return UTF8.decode(this.take(length));
    } catch (error) {
      throw error instanceof MalformedCbor ? error : new MalformedCbor("a text is not valid UTF-8");
    }
  }

  private readList(count: number, depth: number): unknown[] {
    return Array.from({ length: count }, () => this.readItem(depth + 1));
  }

  /** Read the members of a map; throws if two keys are equal. */
  private readMap(count: number, depth: number): Map<unknown, unknown> {
    const members = new Map<unknown, unknown>();
    const seen = new Set<string>();
    for (let left = count; left > 0; left--) {
      const key = this.readItem(depth + 1);
      const identity = identifyKey(key);
      if (seen.has(identity)) throw new MalformedCbor("a key occurs more than once");
      seen.add(identity);
      members.set(key, this.readItem(depth + 1));
    }
    return members;
  }

  /** Read the value after a tag; tags 2 and 3 make it a big number. */
  private readTagged(tag: number, depth: number): unknown {
    const value = this.readItem(depth + 1);
    if ((tag !== 2 && tag !== 3) || !(value instanceof Uint8Array)) return new Tag(tag, value);
    if (this.limits.shortest) throw new MalformedCbor("big numbers are not allowed here");
    let number = 0n;
    for (const byte of value) number = (number << 8n) | BigInt(byte);
    return tag === 2 ? number : -1n - number;
  }

  /** Read true, false, null, undefined or a float; `info` are the low bits of the head. */
  private readSimple(info: number): unknown {
    if (info === 20 || info === 21) return info === 21;
    if (info === 22) return null;
    if (info === 23) return undefined;
    if (info < 25 || info > 27) throw new MalformedCbor(`unsupported simple value ${info}`);
    const start = this.offset;
    this.take(ARGUMENT_SIZES[info]);
    const value =
      info === 27
        ? this.view.getFloat64(start)
        : info === 26
          ? this.view.getFloat32(start)
          : decodeHalf(this.view.getUint16(start));
    if (!Number.isFinite(value)) throw new MalformedCbor(`${value} is not a finite number`);
    return new Float(value);
  }
}

/** Return a text that two keys share if Python takes them for one: 1, 1.0 and true are three keys in CBOR, also inside arrays. */
function identifyKey(key: unknown): string {
  if (typeof key === "string") return JSON.stringify(key);
  if (key instanceof Uint8Array) return `h'${key.join()}'`;
  if (Array.isArray(key)) return `[${key.map(identifyKey).join()}]`;
  if (key instanceof Tag) return `${key.tag}(${identifyKey(key.value)})`;
  if (key instanceof Map) return `{${[...key].map((member) => member.map(identifyKey).join(":")).sort().join()}}`; // prettier-ignore
  if (key === null || key === undefined || typeof key === "bigint") return String(key);
  const number = Number(key);
  return String(Number.isInteger(number) ? BigInt(number) : number);
}

/** A number encoded as a float. Unlike the integer 1, the float 1.0 is not a header label. */
export class Float extends Number {}

/** Return the value of a float of 16 bits. */
function decodeHalf(bits: number): number {
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

/** Convert maps to plain objects, as in a record from JSON; keys become texts. */
export function toPlainObjects(value: unknown): unknown {
  if (value instanceof Float) return value.valueOf();
  if (Array.isArray(value)) return value.map(toPlainObjects);
  if (value instanceof Tag) return { tag: value.tag, value: toPlainObjects(value.value) };
  if (!(value instanceof Map)) return value;
  const object = {};
  for (const [key, item] of value) {
    // An assignment would not create a member named `__proto__`.
    Object.defineProperty(object, String(key), {
      value: toPlainObjects(item),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}

/** Encode the head of an item: its major type, and a value, length or count below 2^32. */
export function encodeHead(major: number, argument: number): Bytes {
  if (argument < 24) return Uint8Array.of((major << 5) | argument);
  if (argument < 0x100) return Uint8Array.of((major << 5) | 24, argument);
  const bytes = new Uint8Array(argument < 0x10000 ? 3 : 5);
  bytes[0] = (major << 5) | (argument < 0x10000 ? 25 : 26);
  if (bytes.length === 3) new DataView(bytes.buffer).setUint16(1, argument);
  else new DataView(bytes.buffer).setUint32(1, argument);
  return bytes;
}

export function encodeByteString(data: Bytes): Bytes {
  return concatBytes(encodeHead(2, data.length), data);
}

export function encodeTextString(text: string): Bytes {
  const data = new TextEncoder().encode(text);
  return concatBytes(encodeHead(3, data.length), data);
}
