/** The signature algorithms that browsers support, by their COSE numbers. Follows RFC 9053, 8230 and 9864. */

import { verifyAsync } from "@noble/ed25519";
import { toBase64Url, type Bytes, concatBytes } from "./bytes";
import type { Key } from "./keys";
import { VerificationError } from "./verification-error";

interface Algorithm {
  name: string;
  /** The kinds of keys that it accepts. */
  kinds: Key["kind"][];
  hash?: string;
}

const define = (name: string, kind: Key["kind"], hash: string): Algorithm => ({ name, kinds: [kind], hash });
const ALGORITHMS: Record<number, Algorithm> = {
  [-8]: { name: "EdDSA", kinds: ["Ed25519"] },
  [-19]: { name: "Ed25519", kinds: ["Ed25519"] },
  [-7]: define("ES256", "P-256", "SHA-256"),
  [-35]: define("ES384", "P-384", "SHA-384"),
  [-36]: define("ES512", "P-521", "SHA-512"),
  [-9]: define("ESP256", "P-256", "SHA-256"),
  [-51]: define("ESP384", "P-384", "SHA-384"),
  [-52]: define("ESP512", "P-521", "SHA-512"),
  [-37]: define("PS256", "RSA", "SHA-256"),
  [-38]: define("PS384", "RSA", "SHA-384"),
  [-39]: define("PS512", "RSA", "SHA-512"),
};
/** Algorithms that `vacr verify` supports and browsers do not. */
const PYTHON_ONLY: Record<number, string> = { [-53]: "Ed448", [-48]: "ML-DSA-44", [-49]: "ML-DSA-65", [-50]: "ML-DSA-87" };

/** The length of a signature in bytes, by the kind of key. */
const SIZES: Partial<Record<Key["kind"], number>> = { "P-256": 64, "P-384": 96, "P-521": 132 };
const PRIME = 2n ** 255n - 19n;
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
/** The encodings of points of small order. Such a key is worthless: a signature by it can be made without a private key. */
const SMALL_ORDER = new Set([0n, 1n, PRIME - 1n, PRIME, PRIME + 1n, ORDER_8, PRIME - ORDER_8]);

/** Return the name of an algorithm by its COSE number; throws a VerificationError if `vacr verify` does not know it either. */
export function nameAlgorithm(number: unknown): string {
  const name = ALGORITHMS[number as number]?.name ?? PYTHON_ONLY[number as number];
  if (typeof number !== "number" || name === undefined)
    throw new VerificationError(`Unknown signature algorithm ${number}`, "alg-unknown");
  return name;
}

/** Return whether the page can check signatures of an algorithm. */
export function isSupported(number: unknown): boolean {
  return (number as number) in ALGORITHMS;
}

/** Return whether a key is of a kind that a supported algorithm accepts, and not a weak one. */
export function acceptsKey(number: unknown, key: Key): boolean {
  const isStrong = !hasSmallOrder(key) && (key.kind !== "RSA" || hasUsualSize(key));
  return ALGORITHMS[number as number].kinds.includes(key.kind) && isStrong;
}

/** Check a signature; throws a VerificationError if it is wrong. */
export async function checkSignature(number: unknown, key: Key, signature: Bytes, data: Bytes): Promise<void> {
  const algorithm = ALGORITHMS[number as number];
  if (!acceptsKey(number, key)) throw new VerificationError(`${algorithm.name} cannot be used with this key`, "alg-key");
  const size = SIZES[key.kind];
  if (size !== undefined && signature.length !== size)
    throw new VerificationError(`The signature has ${signature.length} bytes instead of ${size}`, "signature-length");
  if (!(await verifySignature(algorithm, key, signature, data)))
    throw new VerificationError("Not signed by this key", "signature");
}

/** Return whether a signature is valid; false if the key is malformed. */
async function verifySignature(algorithm: Algorithm, key: Key, signature: Bytes, data: Bytes): Promise<boolean> {
  if (key.kind === "Ed25519") return verifyEd25519(key, signature, data);
  try {
    if (key.kind === "RSA") {
      const jwk = { kty: "RSA", n: toBase64Url(key.x), e: toBase64Url(key.y) };
      const imported = await crypto.subtle.importKey("jwk", jwk, { name: "RSA-PSS", hash: algorithm.hash! }, false, ["verify"]);
      return await crypto.subtle.verify(
        { name: "RSA-PSS", saltLength: Number(algorithm.hash!.slice(4)) / 8 },
        imported,
        signature,
        data,
      );
    }
    const point = concatBytes(Uint8Array.of(4), key.x, key.y);
    const imported = await crypto.subtle.importKey("raw", point, { name: "ECDSA", namedCurve: key.kind }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "ECDSA", hash: algorithm.hash! }, imported, signature, data);
  } catch {
    return false; // The point is not on its curve, or a number is out of range.
  }
}

/** Return whether an Ed25519 signature is valid, also in browsers that lack the algorithm. */
async function verifyEd25519(key: Key, signature: Bytes, data: Bytes): Promise<boolean> {
  let imported: CryptoKey;
  try {
    imported = await crypto.subtle.importKey("raw", key.x, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    // The browser lacks Ed25519, or the bytes are not a point. The library handles both.
    return verifyAsync(signature, data, key.x, { zip215: false }).catch(() => false);
  }
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, data);
}

/** Return whether an RSA key has 2048 to 8192 bits, and an exponent of at most 64. */
function hasUsualSize({ x, y }: Key): boolean {
  const bits = x.length * 8 - (Math.clz32(x[0]) - 24);
  return bits >= 2048 && bits <= 8192 && y.length <= 8;
}

/** Return whether an Ed25519 key is a point of small order; false for other kinds of keys. */
function hasSmallOrder(key: Key): boolean {
  if (key.kind !== "Ed25519") return false;
  let y = 0n;
  for (const byte of key.x.slice().reverse()) y = (y << 8n) | BigInt(byte);
  return SMALL_ORDER.has(y & ((1n << 255n) - 1n));
}
