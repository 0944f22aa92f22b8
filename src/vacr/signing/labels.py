"""The numbers of COSE: header labels, claims, algorithms, keys. Step: sign, verify.

Follows the IANA registries for RFC 9052, 9053, 9360, 9597, 9679, 9864, 9921, 9942, 9964 and 9995.
"""

from __future__ import annotations

SIGN1_TAG = 18

# Header parameters.
ALG, CRIT, CONTENT_TYPE, KID = 1, 2, 3, 4
KCCS, CWT_CLAIMS, TYP = 14, 15, 16
X5BAG, X5CHAIN, X5T, X5U = 32, 33, 34, 35
TRACE_METADATA = 100
PAYLOAD_HASH_ALG, PREIMAGE_CONTENT_TYPE, PAYLOAD_LOCATION = 258, 259, 260
TIMESTAMP_THEN_COSE, COSE_THEN_TIMESTAMP = 269, 270
RECEIPTS, VDS, VDP = 394, 395, 396
# Of ours; numbers below -65536 are left for private use.
EVIDENCE = -75100

# CWT claims.
ISS, SUB, EXP, NBF, IAT, CNF = 1, 2, 4, 5, 6, 8
CNF_COSE_KEY = 1

# Verifiable data structures and their proofs.
RFC9162_SHA256 = 1
INCLUSION, CONSISTENCY = -1, -2

# Algorithms.
EDDSA, ED25519, ED448 = -8, -19, -53
ES256, ES384, ES512 = -7, -35, -36
ESP256, ESP384, ESP512 = -9, -51, -52
PS256, PS384, PS512 = -37, -38, -39
ML_DSA_44, ML_DSA_65, ML_DSA_87 = -48, -49, -50
SHA256, SHA384, SHA512 = -16, -43, -44

# Keys: parameters of all, then of each type.
KEY_TYPE, KEY_ALG = 1, 3
OKP, EC2, RSA, AKP = 1, 2, 3, 7
CURVE, X, Y = -1, -2, -3
RSA_N, RSA_E = -1, -2
AKP_PUBLIC = -1
P256, P384, P521, CURVE_ED25519, CURVE_ED448 = 1, 2, 3, 6, 7

NAMES = {
    ALG: "alg",
    CRIT: "crit",
    CONTENT_TYPE: "content type",
    KID: "kid",
    KCCS: "kccs",
    CWT_CLAIMS: "CWT claims",
    TYP: "typ",
    X5BAG: "x5bag",
    X5CHAIN: "x5chain",
    X5T: "x5t",
    X5U: "x5u",
    TRACE_METADATA: "trace-metadata",
    PAYLOAD_HASH_ALG: "payload hash alg",
    PREIMAGE_CONTENT_TYPE: "preimage content type",
    PAYLOAD_LOCATION: "payload location",
    TIMESTAMP_THEN_COSE: "3161-ttc",
    COSE_THEN_TIMESTAMP: "3161-ctt",
    RECEIPTS: "receipts",
    VDS: "vds",
    VDP: "vdp",
    EVIDENCE: "evidence",
}


def name_of(label: object) -> str:
    """Name a header label as people know it."""
    known = NAMES.get(label) if type(label) is int else None
    return known or repr(label)
