/** Public keys: COSE parameters → a key that verifies, and its name. Follows RFC 9053 section 7; names by RFC 9679. */

import { base64url, type Bytes, hashed, joined } from "./bytes";
import { byteString, decode, head } from "./cbor";
import { Refusal } from "./refusal";
import { isBytes } from "./sign1";

export const THUMBPRINT_URI = "urn:ietf:params:oauth:ckt:sha-256:";

export interface Key {
  kind: "Ed25519" | "P-256" | "P-384" | "P-521" | "RSA" | "other";
  /** The point, or for RSA the modulus. */
  x: Bytes;
  y: Bytes;
  thumbprint: Bytes;
}

const CURVES: Record<number, { kind: Key["kind"]; size: number }> = {
  1: { kind: "P-256", size: 32 },
  2: { kind: "P-384", size: 48 },
  3: { kind: "P-521", size: 66 },
};
const NOTHING: Bytes = new Uint8Array();
/** A key that verifies nothing here, and so is none of those that do. */
export const ANOTHER: Key = { kind: "other", x: NOTHING, y: NOTHING, thumbprint: NOTHING };

export function uriOf(key: Key): string {
  return THUMBPRINT_URI + base64url(key.thumbprint);
}

/** Read a key as it is in this page: COSE parameters, just those that its thumbprint is made of. */
export async function keyOf(written: Bytes): Promise<Key> {
  const thumbprint = await hashed("SHA-256", written);
  return (
    (await fromCose(decode(written, { depth: 4, items: 100, shortest: true }))) ?? {
      kind: "other",
      x: NOTHING,
      y: NOTHING,
      thumbprint,
    }
  );
}

/** Make a key of COSE parameters; nothing for one of a kind that is not verified here. */
export async function fromCose(value: unknown): Promise<Key | null> {
  if (!(value instanceof Map)) throw new Refusal("not a COSE key", "kccs-malformed");
  const type = value.get(1);
  if (type === 1 && value.get(-1) === 6) {
    const x = bytes(value, -2, 32);
    return named({ kind: "Ed25519", x, y: NOTHING }, cose([1, 1], [-1, 6], [-2, x]));
  }
  if (type === 2) {
    const curve = CURVES[value.get(-1) as number];
    if (!curve) throw new Refusal("a curve that is not known", "kccs-malformed");
    if (typeof value.get(-3) === "boolean") return null; // A compressed point needs a square root, which nobody offers here.
    const [x, y] = [bytes(value, -2, curve.size), bytes(value, -3, curve.size)];
    return named({ kind: curve.kind, x, y }, cose([1, 2], [-1, value.get(-1) as number], [-2, x], [-3, y]));
  }
  if (type === 3) {
    const [n, e] = [bytes(value, -1), bytes(value, -2)];
    return named({ kind: "RSA", x: n, y: e }, cose([1, 3], [-1, n], [-2, e]));
  }
  if (type === 1 || type === 7) return null;
  throw new Refusal("not a COSE key of a known kind", "kccs-malformed");
}

function bytes(value: Map<unknown, unknown>, label: number, size?: number): Bytes {
  const found = value.get(label);
  if (!isBytes(found) || (size !== undefined && found.length !== size))
    throw new Refusal("not a COSE key of a known kind", "kccs-malformed");
  return found;
}

async function named(key: Omit<Key, "thumbprint">, written: Bytes): Promise<Key> {
  return { ...key, thumbprint: await hashed("SHA-256", written) };
}

function cose(...members: [number, number | Bytes][]): Bytes {
  const written = members.map(([label, value]) =>
    joined(integer(label), typeof value === "number" ? integer(value) : byteString(value)),
  );
  return joined(head(5, members.length), ...written);
}

function integer(value: number): Bytes {
  return value < 0 ? head(1, -1 - value) : head(0, value);
}

/** Give the key of a certificate: the part of its ASN.1 that is a SubjectPublicKeyInfo. Nothing else of it is looked at. */
export async function keyOfCertificate(der: Bytes): Promise<Key | null> {
  try {
    const [body] = items(items(der)[0].content);
    const fields = items(body.content);
    const info = fields[(fields[0].tag === 0xa0 ? 1 : 0) + 5];
    return await fromSpki(info.whole);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("a certificate that cannot be read", "x5chain-malformed");
  }
}

async function fromSpki(spki: Bytes): Promise<Key | null> {
  const [algorithm, bits] = items(items(spki)[0].content);
  const names = items(algorithm.content).map((one) => Array.from(one.content).join("."));
  const point = bits.content.subarray(1);
  const curve = { "42.134.72.206.61.3.1.7": 1, "43.129.4.0.34": 2, "43.129.4.0.35": 3 }[names[1] ?? ""];
  if (names[0] === "43.101.112")
    return fromCose(
      new Map<number, unknown>([
        [1, 1],
        [-1, 6],
        [-2, point.slice()],
      ]),
    );
  if (curve && point[0] === 4) {
    const { size } = CURVES[curve];
    return fromCose(
      new Map<number, unknown>([
        [1, 2],
        [-1, curve],
        [-2, point.slice(1, 1 + size)],
        [-3, point.slice(1 + size)],
      ]),
    );
  }
  if (names[0] === "42.134.72.134.247.13.1.1.1") {
    const [n, e] = items(items(point)[0].content).map((one) => one.content.slice(one.content[0] === 0 ? 1 : 0));
    return fromCose(
      new Map<number, unknown>([
        [1, 3],
        [-1, n],
        [-2, e],
      ]),
    );
  }
  return curve ? null : ANOTHER;
}

interface Item {
  tag: number;
  content: Bytes;
  whole: Bytes;
}

function items(der: Bytes): Item[] {
  const found: Item[] = [];
  for (let at = 0; at < der.length;) {
    let length = der[at + 1];
    let start = at + 2;
    if (length & 0x80) {
      const count = length & 0x7f;
      length = der.subarray(start, start + count).reduce((sum, byte) => sum * 256 + byte, 0);
      start += count;
    }
    if (!(start + length <= der.length)) throw new Refusal("a certificate that cannot be read", "x5chain-malformed");
    found.push({ tag: der[at], content: der.subarray(start, start + length), whole: der.subarray(at, start + length) });
    at = start + length;
  }
  return found;
}
