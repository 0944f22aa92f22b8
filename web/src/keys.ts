/** Public keys, read from COSE parameters (RFC 9053 section 7) or from a certificate, with their thumbprints (RFC 9679). */

import { toBase64Url, type Bytes, computeHash, concatBytes, toHex } from "./bytes";
import { decodeCbor, encodeByteString, encodeHead } from "./cbor";
import { isBytes } from "./cose";
import { VerificationError } from "./verification-error";

export const THUMBPRINT_URI = "urn:ietf:params:oauth:ckt:sha-256:";

export interface Key {
  kind: "Ed25519" | "P-256" | "P-384" | "P-521" | "RSA" | "other";
  /** The first coordinate of the point; for RSA the modulus. */
  x: Bytes;
  /** The second coordinate, if the curve has one; for RSA the exponent. */
  y: Bytes;
  thumbprint: Bytes;
  /** The hash of its SubjectPublicKeyInfo in hexadecimal: the key id in receipts of CCF. Empty for other kinds. */
  fingerprint: string;
}

const CURVES: Record<number, { kind: "P-256" | "P-384" | "P-521"; size: number }> = {
  1: { kind: "P-256", size: 32 },
  2: { kind: "P-384", size: 48 },
  3: { kind: "P-521", size: 66 },
};
const EMPTY: Bytes = new Uint8Array();
/** A key of a kind that the page does not support: it equals no other key and verifies no signature. */
export const UNUSABLE_KEY: Key = { kind: "other", x: EMPTY, y: EMPTY, thumbprint: EMPTY, fingerprint: "" };
/** The content of the AlgorithmIdentifier of each kind of key: the object identifiers, in DER. */
const ALGORITHM_IDS: Record<Exclude<Key["kind"], "other">, number[]> = {
  Ed25519: [6, 3, 43, 101, 112],
  "P-256": [6, 7, 42, 134, 72, 206, 61, 2, 1, 6, 8, 42, 134, 72, 206, 61, 3, 1, 7],
  "P-384": [6, 7, 42, 134, 72, 206, 61, 2, 1, 6, 5, 43, 129, 4, 0, 34],
  "P-521": [6, 7, 42, 134, 72, 206, 61, 2, 1, 6, 5, 43, 129, 4, 0, 35],
  RSA: [6, 9, 42, 134, 72, 134, 247, 13, 1, 1, 1, 5, 0],
};
const [DER_INTEGER, DER_BIT_STRING, DER_SEQUENCE] = [0x02, 0x03, 0x30];

export function thumbprintUri(key: Key): string {
  return THUMBPRINT_URI + toBase64Url(key.thumbprint);
}

/** Read a key stored in the page. It contains exactly the COSE parameters that its thumbprint covers. */
export async function parseStoredKey(encoded: Bytes): Promise<Key> {
  const key = await parseCoseKey(decodeCbor(encoded, { depth: 4, items: 100, shortest: true }));
  return key ?? { ...UNUSABLE_KEY, thumbprint: await computeHash("SHA-256", encoded) };
}

/** Parse COSE parameters; returns null for a kind of key that the page does not support. */
export async function parseCoseKey(value: unknown): Promise<Key | null> {
  if (!(value instanceof Map)) throw new VerificationError("Not a COSE key", "kccs-malformed");
  const type = value.get(1);
  if (type === 1 && value.get(-1) === 6) {
    const x = readBytes(value, -2, 32);
    return addThumbprint({ kind: "Ed25519", x, y: EMPTY }, encodeCoseKey([1, 1], [-1, 6], [-2, x]));
  }
  if (type === 2) {
    const curve = CURVES[value.get(-1) as number];
    if (!curve) throw new VerificationError("Unknown curve", "kccs-malformed");
    if (typeof value.get(-3) === "boolean") return null; // A compressed point: browsers cannot expand it.
    const [x, y] = [readBytes(value, -2, curve.size), readBytes(value, -3, curve.size)];
    return addThumbprint({ kind: curve.kind, x, y }, encodeCoseKey([1, 2], [-1, value.get(-1) as number], [-2, x], [-3, y]));
  }
  if (type === 3) {
    const [n, e] = [readBytes(value, -1), readBytes(value, -2)];
    return addThumbprint({ kind: "RSA", x: n, y: e }, encodeCoseKey([1, 3], [-1, n], [-2, e]));
  }
  if (type === 1 || type === 7) return null;
  throw new VerificationError("Not a COSE key of a supported kind", "kccs-malformed");
}

/** Return a parameter of a key that must be a byte string and, with `size`, of that length. */
function readBytes(value: Map<unknown, unknown>, label: number, size?: number): Bytes {
  const bytes = value.get(label);
  if (!isBytes(bytes) || (size !== undefined && bytes.length !== size))
    throw new VerificationError("Not a COSE key of a supported kind", "kccs-malformed");
  return bytes;
}

type UnnamedKey = Pick<Key, "x" | "y"> & { kind: keyof typeof ALGORITHM_IDS };

/** Return a key with its thumbprint, the hash of its encoded parameters, and its fingerprint. */
async function addThumbprint(key: UnnamedKey, encoded: Bytes): Promise<Key> {
  const [thumbprint, fingerprint] = await Promise.all([encoded, encodeSpki(key)].map((data) => computeHash("SHA-256", data)));
  return { ...key, thumbprint, fingerprint: toHex(fingerprint) };
}

/** Encode a key as SubjectPublicKeyInfo (RFC 5280). */
function encodeSpki({ kind, x, y }: UnnamedKey): Bytes {
  let bits = kind === "Ed25519" ? x : concatBytes(Uint8Array.of(4), x, y);
  if (kind === "RSA") bits = encodeDer(DER_SEQUENCE, encodeDerInteger(x), encodeDerInteger(y));
  const algorithm = encodeDer(DER_SEQUENCE, Uint8Array.from(ALGORITHM_IDS[kind]));
  return encodeDer(DER_SEQUENCE, algorithm, encodeDer(DER_BIT_STRING, Uint8Array.of(0), bits));
}

/** Encode a positive integer, given in big-endian order. */
function encodeDerInteger(value: Bytes): Bytes {
  return encodeDer(DER_INTEGER, value[0] & 0x80 ? Uint8Array.of(0) : EMPTY, value);
}

function encodeDer(tag: number, ...contents: Bytes[]): Bytes {
  const content = concatBytes(...contents);
  const length: number[] = [];
  for (let rest = content.length; rest; rest >>= 8) length.unshift(rest & 0xff);
  if (content.length >= 0x80) length.unshift(0x80 | length.length);
  return concatBytes(Uint8Array.of(tag, ...(length.length ? length : [0])), content);
}

/** Encode the parameters of a key as a CBOR map, in the order given. */
function encodeCoseKey(...members: [number, number | Bytes][]): Bytes {
  const encoded = members.map(([label, value]) =>
    concatBytes(encodeInteger(label), typeof value === "number" ? encodeInteger(value) : encodeByteString(value)),
  );
  return concatBytes(encodeHead(5, members.length), ...encoded);
}

function encodeInteger(value: number): Bytes {
  return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value);
}

/** Return the key of a certificate, without checking the certificate; null for a compressed point. */
export async function parseCertificateKey(der: Bytes): Promise<Key | null> {
  try {
    const [body] = parseDer(parseDer(der)[0].content);
    const fields = parseDer(body.content);
    const hasVersion = fields[0].tag === 0xa0;
    return await parseSpki(fields[hasVersion ? 6 : 5].whole);
  } catch (error) {
    if (error instanceof VerificationError) throw error;
    throw new VerificationError("Cannot read the certificate", "x5chain-malformed");
  }
}

/** Parse a SubjectPublicKeyInfo; returns null for a compressed point, and UNUSABLE_KEY for an unsupported algorithm. */
async function parseSpki(spki: Bytes): Promise<Key | null> {
  const [algorithm, bits] = parseDer(parseDer(spki)[0].content);
  // The object identifiers of the algorithm and of the curve, as their bytes in decimal.
  const names = parseDer(algorithm.content).map((item) => Array.from(item.content).join("."));
  const point = bits.content.subarray(1);
  const curve = { "42.134.72.206.61.3.1.7": 1, "43.129.4.0.34": 2, "43.129.4.0.35": 3 }[names[1] ?? ""];
  if (names[0] === "43.101.112")
    return parseCoseKey(
      new Map<number, unknown>([
        [1, 1],
        [-1, 6],
        [-2, point.slice()],
      ]),
    );
  if (curve && point[0] === 4) {
    const { size } = CURVES[curve];
    return parseCoseKey(
      new Map<number, unknown>([
        [1, 2],
        [-1, curve],
        [-2, point.slice(1, 1 + size)],
        [-3, point.slice(1 + size)],
      ]),
    );
  }
  if (names[0] === "42.134.72.134.247.13.1.1.1") {
    const integers = parseDer(parseDer(point)[0].content);
    const [n, e] = integers.map((item) => item.content.slice(item.content[0] === 0 ? 1 : 0));
    return parseCoseKey(
      new Map<number, unknown>([
        [1, 3],
        [-1, n],
        [-2, e],
      ]),
    );
  }
  return curve ? null : UNUSABLE_KEY;
}

interface DerItem {
  tag: number;
  /** The bytes after tag and length. */
  content: Bytes;
  whole: Bytes;
}

/** Split DER into its items, without the items inside them. */
function parseDer(der: Bytes): DerItem[] {
  const items: DerItem[] = [];
  for (let offset = 0; offset < der.length;) {
    let length = der[offset + 1];
    let start = offset + 2;
    if (length & 0x80) {
      const count = length & 0x7f;
      length = der.subarray(start, start + count).reduce((sum, byte) => sum * 256 + byte, 0);
      start += count;
    }
    if (!(start + length <= der.length)) throw new VerificationError("Cannot read the certificate", "x5chain-malformed");
    const end = start + length;
    items.push({ tag: der[offset], content: der.subarray(start, end), whole: der.subarray(offset, end) });
    offset = end;
  }
  return items;
}
