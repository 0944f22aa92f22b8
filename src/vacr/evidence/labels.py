"""The names and numbers of evidence: claims, media types, tags. Step: attest, appraise.

Follows RFC 9711 (EAT), RFC 9782 (its media types), RFC 10013 (measured components), RFC 9999 (CMW),
draft-ietf-rats-ear-03.

Claims of our own have integers below -65536, which RFC 8392 leaves for private use; texts would
have to be registered.
"""

from __future__ import annotations

PROFILE = "urn:uuid:5f0c7f5e-33d4-4b0e-9a52-6d1f6b1c2a71"
"""The EAT profile of our evidence. A URN of this kind needs no owner of a domain."""
ENDORSEMENT_PROFILE = "urn:uuid:0b1e4c1c-7b0f-4c7e-8b6a-7c2f2f5d9e36"
"""The profile of endorsements of attestation keys."""
EAR_PROFILE = "tag:ietf.org,2026:rats/ear#03"

CWT_TAG = 61

# Claims of CWT and EAT.
EXP, IAT, CNF, NONCE = 4, 6, 8, 10
EAT_PROFILE, SUBMODS, SWNAME, SWVERSION, MEASUREMENTS = 265, 266, 270, 271, 273

# Claims of ours.
RECORD, JOURNAL, MANIFESTS, KEY_STORAGE, AGENT = -75001, -75002, -75003, -75004, -75005
QUOTE, QUOTE_SIGNATURE, ATTESTATION_KEY, PCRS = -75011, -75012, -75013, -75014
ENDORSED_KEY, ENDORSED_BY = -75021, -75022

# Claims of results (EAR).
EAR_STATUS, EAR_VECTOR, EAR_POLICY_IDS, EAR_VERIFIER_ID = 1000, 1001, 1003, 1004
EAR_NAMES = {
    IAT: "iat",
    EXP: "exp",
    NONCE: "eat_nonce",
    EAT_PROFILE: "eat_profile",
    SUBMODS: "submods",
    EAR_STATUS: "ear_status",
    EAR_VECTOR: "ear_trustworthiness_vector",
    EAR_POLICY_IDS: "ear_appraisal_policy_ids",
    EAR_VERIFIER_ID: "ear_verifier_id",
    KEY_STORAGE: "vacr_key_storage",
    RECORD: "vacr_record",
    JOURNAL: "vacr_journal",
}
"""The same claims in JSON."""

SOFTWARE, TPM = "software", "tpm"
"""Where the key is that vouches for the evidence."""

SHA256 = 1
"""SHA-256 in the registry of named information, which measured components use."""
MEASURED_COMPONENT = 295
"""CoAP content format of application/measured-component+cbor."""
EAT_CWT, EAT_JWT = "application/eat+cwt", "application/eat+jwt"
REFERENCE_VALUES = "application/vnd.vacr.reference-values+cbor"
ENROLMENT = {
    kind: f"application/vnd.vacr.enrolment-{kind}+cbor"
    for kind in ("request", "challenge", "secret", "answer")
}
