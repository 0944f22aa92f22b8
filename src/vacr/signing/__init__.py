"""Signed statements about records and native sessions: COSE_Sign1, keys and certificates."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.signing.cose import ALG_ED25519 as ALG_ED25519
    from vacr.signing.cose import ALG_EDDSA as ALG_EDDSA
    from vacr.signing.cose import ALG_ES256 as ALG_ES256
    from vacr.signing.cose import ALG_ES384 as ALG_ES384
    from vacr.signing.cose import ALG_ES512 as ALG_ES512
    from vacr.signing.cose import ALG_ESP256 as ALG_ESP256
    from vacr.signing.cose import ALG_ESP384 as ALG_ESP384
    from vacr.signing.cose import ALG_ESP512 as ALG_ESP512
    from vacr.signing.cose import ALG_SHA256 as ALG_SHA256
    from vacr.signing.cose import ALGORITHMS as ALGORITHMS
    from vacr.signing.cose import CLAIM_EXP as CLAIM_EXP
    from vacr.signing.cose import CLAIM_IAT as CLAIM_IAT
    from vacr.signing.cose import CLAIM_ISS as CLAIM_ISS
    from vacr.signing.cose import CLAIM_NBF as CLAIM_NBF
    from vacr.signing.cose import CLAIM_SUB as CLAIM_SUB
    from vacr.signing.cose import CNF_COSE_KEY as CNF_COSE_KEY
    from vacr.signing.cose import HASH_FUNCTIONS as HASH_FUNCTIONS
    from vacr.signing.cose import HEADER_ALG as HEADER_ALG
    from vacr.signing.cose import HEADER_CONTENT_TYPE as HEADER_CONTENT_TYPE
    from vacr.signing.cose import HEADER_COSE_THEN_TIMESTAMP as HEADER_COSE_THEN_TIMESTAMP
    from vacr.signing.cose import HEADER_CWT_CLAIMS as HEADER_CWT_CLAIMS
    from vacr.signing.cose import HEADER_EVIDENCE as HEADER_EVIDENCE
    from vacr.signing.cose import HEADER_KCCS as HEADER_KCCS
    from vacr.signing.cose import HEADER_KID as HEADER_KID
    from vacr.signing.cose import HEADER_PAYLOAD_HASH_ALG as HEADER_PAYLOAD_HASH_ALG
    from vacr.signing.cose import HEADER_PAYLOAD_LOCATION as HEADER_PAYLOAD_LOCATION
    from vacr.signing.cose import HEADER_PREIMAGE_CONTENT_TYPE as HEADER_PREIMAGE_CONTENT_TYPE
    from vacr.signing.cose import HEADER_RECEIPTS as HEADER_RECEIPTS
    from vacr.signing.cose import HEADER_TIMESTAMP_THEN_COSE as HEADER_TIMESTAMP_THEN_COSE
    from vacr.signing.cose import HEADER_TLOG_PROOFS as HEADER_TLOG_PROOFS
    from vacr.signing.cose import HEADER_TRACE_METADATA as HEADER_TRACE_METADATA
    from vacr.signing.cose import HEADER_TYP as HEADER_TYP
    from vacr.signing.cose import HEADER_VDP as HEADER_VDP
    from vacr.signing.cose import HEADER_VDS as HEADER_VDS
    from vacr.signing.cose import HEADER_X5CHAIN as HEADER_X5CHAIN
    from vacr.signing.cose import HEADER_X5T as HEADER_X5T
    from vacr.signing.cose import MIN_RSA_BITS as MIN_RSA_BITS
    from vacr.signing.cose import VDP_CONSISTENCY as VDP_CONSISTENCY
    from vacr.signing.cose import VDP_INCLUSION as VDP_INCLUSION
    from vacr.signing.cose import VDS_CCF_LEDGER_SHA256 as VDS_CCF_LEDGER_SHA256
    from vacr.signing.cose import VDS_RFC9162_SHA256 as VDS_RFC9162_SHA256
    from vacr.signing.cose import PrivateKey as PrivateKey
    from vacr.signing.cose import PublicKey as PublicKey
    from vacr.signing.cose import Sign1 as Sign1
    from vacr.signing.cose import choose_algorithm_number as choose_algorithm_number
    from vacr.signing.cose import encode_protected_header as encode_protected_header
    from vacr.signing.cose import encode_sig_structure as encode_sig_structure
    from vacr.signing.cose import flip_signature as flip_signature
    from vacr.signing.cose import format_header_label as format_header_label
    from vacr.signing.cose import get_algorithm as get_algorithm
    from vacr.signing.cose import get_algorithm_number as get_algorithm_number
    from vacr.signing.cose import parse_sign1 as parse_sign1
    from vacr.signing.cose import verify_signature as verify_signature
    from vacr.signing.key_files import PKCS11_PREFIX as PKCS11_PREFIX
    from vacr.signing.key_files import RECEIPT_KEYS_FILE as RECEIPT_KEYS_FILE
    from vacr.signing.key_files import check_secret_permissions as check_secret_permissions
    from vacr.signing.key_files import load_signer as load_signer
    from vacr.signing.key_files import read_certificate_file as read_certificate_file
    from vacr.signing.key_files import read_key_file as read_key_file
    from vacr.signing.key_files import read_log_keys as read_log_keys
    from vacr.signing.key_files import read_passphrase as read_passphrase
    from vacr.signing.key_files import read_trust_file as read_trust_file
    from vacr.signing.key_files import write_key_pair as write_key_pair
    from vacr.signing.keys import NEW_KEY_ALGORITHMS as NEW_KEY_ALGORITHMS
    from vacr.signing.keys import THUMBPRINT_URI_PREFIX as THUMBPRINT_URI_PREFIX
    from vacr.signing.keys import KeySigner as KeySigner
    from vacr.signing.keys import Signer as Signer
    from vacr.signing.keys import build_cose_key as build_cose_key
    from vacr.signing.keys import compute_fingerprint as compute_fingerprint
    from vacr.signing.keys import compute_thumbprint as compute_thumbprint
    from vacr.signing.keys import compute_thumbprint_uri as compute_thumbprint_uri
    from vacr.signing.keys import encode_private_pem as encode_private_pem
    from vacr.signing.keys import encode_public_pem as encode_public_pem
    from vacr.signing.keys import format_thumbprint_uri as format_thumbprint_uri
    from vacr.signing.keys import generate_key as generate_key
    from vacr.signing.keys import is_encrypted_pem as is_encrypted_pem
    from vacr.signing.keys import is_trust_store as is_trust_store
    from vacr.signing.keys import parse_cose_key as parse_cose_key
    from vacr.signing.keys import parse_private_key as parse_private_key
    from vacr.signing.keys import parse_public_keys as parse_public_keys
    from vacr.signing.statement import ATTACHED as ATTACHED
    from vacr.signing.statement import DETACHED as DETACHED
    from vacr.signing.statement import HASH_ENVELOPE as HASH_ENVELOPE
    from vacr.signing.statement import STATEMENT_PROFILES as STATEMENT_PROFILES
    from vacr.signing.statement import StatementClaims as StatementClaims
    from vacr.signing.statement import build_trace_metadata as build_trace_metadata
    from vacr.signing.statement import check_x5t as check_x5t
    from vacr.signing.statement import find_carried_key as find_carried_key
    from vacr.signing.statement import find_kccs_key as find_kccs_key
    from vacr.signing.statement import get_trace_format as get_trace_format
    from vacr.signing.statement import is_issuer_uri as is_issuer_uri
    from vacr.signing.statement import parse_kccs as parse_kccs
    from vacr.signing.statement import parse_pem_certificates as parse_pem_certificates
    from vacr.signing.statement import parse_x5chain as parse_x5chain
    from vacr.signing.statement import sign as sign
    from vacr.signing.timestamps import ProvenTime as ProvenTime
    from vacr.signing.timestamps import ask_time_authority as ask_time_authority
    from vacr.signing.timestamps import build_timestamp_request as build_timestamp_request
    from vacr.signing.timestamps import check_timestamp_token as check_timestamp_token
    from vacr.signing.timestamps import encode_stamped_signature as encode_stamped_signature
    from vacr.signing.timestamps import parse_timestamp_reply as parse_timestamp_reply

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "cose": (
            "ALGORITHMS",
            "ALG_ED25519",
            "ALG_EDDSA",
            "ALG_ES256",
            "ALG_ES384",
            "ALG_ES512",
            "ALG_ESP256",
            "ALG_ESP384",
            "ALG_ESP512",
            "ALG_SHA256",
            "CLAIM_EXP",
            "CLAIM_IAT",
            "CLAIM_ISS",
            "CLAIM_NBF",
            "CLAIM_SUB",
            "CNF_COSE_KEY",
            "HASH_FUNCTIONS",
            "HEADER_ALG",
            "HEADER_CONTENT_TYPE",
            "HEADER_COSE_THEN_TIMESTAMP",
            "HEADER_CWT_CLAIMS",
            "HEADER_EVIDENCE",
            "HEADER_KCCS",
            "HEADER_KID",
            "HEADER_PAYLOAD_HASH_ALG",
            "HEADER_PAYLOAD_LOCATION",
            "HEADER_PREIMAGE_CONTENT_TYPE",
            "HEADER_RECEIPTS",
            "HEADER_TIMESTAMP_THEN_COSE",
            "HEADER_TLOG_PROOFS",
            "HEADER_TRACE_METADATA",
            "HEADER_TYP",
            "HEADER_VDP",
            "HEADER_VDS",
            "HEADER_X5CHAIN",
            "HEADER_X5T",
            "MIN_RSA_BITS",
            "PrivateKey",
            "PublicKey",
            "Sign1",
            "VDP_CONSISTENCY",
            "VDP_INCLUSION",
            "VDS_CCF_LEDGER_SHA256",
            "VDS_RFC9162_SHA256",
            "choose_algorithm_number",
            "encode_protected_header",
            "encode_sig_structure",
            "flip_signature",
            "format_header_label",
            "get_algorithm",
            "get_algorithm_number",
            "parse_sign1",
            "verify_signature",
        ),
        "key_files": (
            "PKCS11_PREFIX",
            "RECEIPT_KEYS_FILE",
            "check_secret_permissions",
            "load_signer",
            "read_certificate_file",
            "read_key_file",
            "read_log_keys",
            "read_passphrase",
            "read_trust_file",
            "write_key_pair",
        ),
        "keys": (
            "KeySigner",
            "NEW_KEY_ALGORITHMS",
            "Signer",
            "THUMBPRINT_URI_PREFIX",
            "build_cose_key",
            "compute_fingerprint",
            "compute_thumbprint",
            "compute_thumbprint_uri",
            "encode_private_pem",
            "encode_public_pem",
            "format_thumbprint_uri",
            "generate_key",
            "is_encrypted_pem",
            "parse_cose_key",
            "parse_private_key",
            "is_trust_store",
            "parse_public_keys",
        ),
        "statement": (
            "ATTACHED",
            "DETACHED",
            "HASH_ENVELOPE",
            "STATEMENT_PROFILES",
            "StatementClaims",
            "build_trace_metadata",
            "check_x5t",
            "find_carried_key",
            "find_kccs_key",
            "get_trace_format",
            "is_issuer_uri",
            "parse_kccs",
            "parse_pem_certificates",
            "parse_x5chain",
            "sign",
        ),
        "timestamps": (
            "ProvenTime",
            "ask_time_authority",
            "build_timestamp_request",
            "check_timestamp_token",
            "encode_stamped_signature",
            "parse_timestamp_reply",
        ),
    },
)
