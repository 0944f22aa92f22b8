"""RATS evidence about the software that recorded a session (RFC 9334).

The roles are separate: an attester creates evidence, a verifier appraises it, and a relying party
requires a result.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.evidence.attester import JOURNAL_HEAD_FORM as JOURNAL_HEAD_FORM
    from vacr.evidence.attester import EvidenceSubject as EvidenceSubject
    from vacr.evidence.attester import JournalHead as JournalHead
    from vacr.evidence.attester import SessionAgent as SessionAgent
    from vacr.evidence.attester import check_nonce as check_nonce
    from vacr.evidence.attester import compute_record_digest as compute_record_digest
    from vacr.evidence.attester import create_evidence as create_evidence
    from vacr.evidence.attester import find_journal_head as find_journal_head
    from vacr.evidence.attester import find_session_agent as find_session_agent
    from vacr.evidence.attester import parse_journal_head as parse_journal_head
    from vacr.evidence.endorsement import SECRET_LENGTH as SECRET_LENGTH
    from vacr.evidence.endorsement import SEED_LENGTH as SEED_LENGTH
    from vacr.evidence.endorsement import create_challenge as create_challenge
    from vacr.evidence.endorsement import create_endorsement as create_endorsement
    from vacr.evidence.endorsement import decode_enrolment as decode_enrolment
    from vacr.evidence.endorsement import encode_enrolment as encode_enrolment
    from vacr.evidence.measurements import Component as Component
    from vacr.evidence.measurements import decode_component as decode_component
    from vacr.evidence.measurements import (
        encode_reference_values as encode_reference_values,
    )
    from vacr.evidence.measurements import measure_agent as measure_agent
    from vacr.evidence.measurements import measure_configuration as measure_configuration
    from vacr.evidence.measurements import measure_recording_agent as measure_recording_agent
    from vacr.evidence.messages import BARE_FORMS as BARE_FORMS
    from vacr.evidence.messages import CBOR_FORM as CBOR_FORM
    from vacr.evidence.messages import CWT_FORM as CWT_FORM
    from vacr.evidence.messages import JSON_FORM as JSON_FORM
    from vacr.evidence.messages import JWT_FORM as JWT_FORM
    from vacr.evidence.messages import WRAPPED_FORMS as WRAPPED_FORMS
    from vacr.evidence.messages import RatsMessages as RatsMessages
    from vacr.evidence.messages import attach_message as attach_message
    from vacr.evidence.messages import decode_cmw as decode_cmw
    from vacr.evidence.messages import find_attached_message as find_attached_message
    from vacr.evidence.messages import list_cmw_records as list_cmw_records
    from vacr.evidence.messages import parse_messages as parse_messages
    from vacr.evidence.policy_files import EVIDENCE_SUFFIX as EVIDENCE_SUFFIX
    from vacr.evidence.policy_files import PASSPORT_SUFFIX as PASSPORT_SUFFIX
    from vacr.evidence.policy_files import RESULT_SUFFIX as RESULT_SUFFIX
    from vacr.evidence.policy_files import find_evidence_file as find_evidence_file
    from vacr.evidence.policy_files import load_appraisal_policy as load_appraisal_policy
    from vacr.evidence.policy_files import load_endorsements as load_endorsements
    from vacr.evidence.policy_files import load_trusted_keys as load_trusted_keys
    from vacr.evidence.relying_party import EVIDENCE_MISSING_HINT as EVIDENCE_MISSING_HINT
    from vacr.evidence.relying_party import RESULT_MISSING_HINT as RESULT_MISSING_HINT
    from vacr.evidence.relying_party import EvidenceRequirement as EvidenceRequirement
    from vacr.evidence.relying_party import check_evidence_requirement as check_evidence_requirement
    from vacr.evidence.results import TIERS_BY_LABEL as TIERS_BY_LABEL
    from vacr.evidence.results import Appraisal as Appraisal
    from vacr.evidence.results import AppraisalCheck as AppraisalCheck
    from vacr.evidence.results import Tier as Tier
    from vacr.evidence.results import encode_signed_result as encode_signed_result
    from vacr.evidence.tokens import CLAIM_AGENT as CLAIM_AGENT
    from vacr.evidence.tokens import CLAIM_ATTESTATION_KEY as CLAIM_ATTESTATION_KEY
    from vacr.evidence.tokens import CLAIM_ENDORSED_BY as CLAIM_ENDORSED_BY
    from vacr.evidence.tokens import CLAIM_ENDORSED_KEY as CLAIM_ENDORSED_KEY
    from vacr.evidence.tokens import CLAIM_JOURNAL as CLAIM_JOURNAL
    from vacr.evidence.tokens import CLAIM_KEY_STORAGE as CLAIM_KEY_STORAGE
    from vacr.evidence.tokens import CLAIM_MANIFESTS as CLAIM_MANIFESTS
    from vacr.evidence.tokens import CLAIM_PCRS as CLAIM_PCRS
    from vacr.evidence.tokens import CLAIM_QUOTE as CLAIM_QUOTE
    from vacr.evidence.tokens import CLAIM_QUOTE_SIGNATURE as CLAIM_QUOTE_SIGNATURE
    from vacr.evidence.tokens import CLAIM_RECORD as CLAIM_RECORD
    from vacr.evidence.tokens import CWT_PREFIX as CWT_PREFIX
    from vacr.evidence.tokens import EAR_JSON_NAMES as EAR_JSON_NAMES
    from vacr.evidence.tokens import EAT_CNF as EAT_CNF
    from vacr.evidence.tokens import EAT_CWT_MEDIA_TYPE as EAT_CWT_MEDIA_TYPE
    from vacr.evidence.tokens import EAT_JWT_MEDIA_TYPE as EAT_JWT_MEDIA_TYPE
    from vacr.evidence.tokens import EAT_MEASUREMENTS as EAT_MEASUREMENTS
    from vacr.evidence.tokens import EAT_SWNAME as EAT_SWNAME
    from vacr.evidence.tokens import EAT_SWVERSION as EAT_SWVERSION
    from vacr.evidence.tokens import EVIDENCE_PROFILE as EVIDENCE_PROFILE
    from vacr.evidence.tokens import KEY_STORAGE_SOFTWARE as KEY_STORAGE_SOFTWARE
    from vacr.evidence.tokens import KEY_STORAGE_TPM as KEY_STORAGE_TPM
    from vacr.evidence.tokens import looks_like_jwt as looks_like_jwt
    from vacr.evidence.tokens import parse_cwt as parse_cwt
    from vacr.evidence.tokens import parse_jwt as parse_jwt
    from vacr.evidence.tpm import DEFAULT_PCRS as DEFAULT_PCRS
    from vacr.evidence.tpm import Tpm as Tpm
    from vacr.evidence.tpm_structures import parse_attestation_key as parse_attestation_key
    from vacr.evidence.verifier import AppraisalPolicy as AppraisalPolicy
    from vacr.evidence.verifier import appraise_evidence as appraise_evidence

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "attester": (
            "EvidenceSubject",
            "JOURNAL_HEAD_FORM",
            "JournalHead",
            "SessionAgent",
            "check_nonce",
            "compute_record_digest",
            "create_evidence",
            "find_journal_head",
            "find_session_agent",
            "parse_journal_head",
        ),
        "endorsement": (
            "SECRET_LENGTH",
            "SEED_LENGTH",
            "create_challenge",
            "create_endorsement",
            "decode_enrolment",
            "encode_enrolment",
        ),
        "measurements": (
            "Component",
            "decode_component",
            "encode_reference_values",
            "measure_agent",
            "measure_configuration",
            "measure_recording_agent",
        ),
        "messages": (
            "BARE_FORMS",
            "CBOR_FORM",
            "CWT_FORM",
            "JSON_FORM",
            "JWT_FORM",
            "RatsMessages",
            "WRAPPED_FORMS",
            "attach_message",
            "decode_cmw",
            "find_attached_message",
            "list_cmw_records",
            "parse_messages",
        ),
        "policy_files": (
            "EVIDENCE_SUFFIX",
            "PASSPORT_SUFFIX",
            "RESULT_SUFFIX",
            "find_evidence_file",
            "load_appraisal_policy",
            "load_endorsements",
            "load_trusted_keys",
        ),
        "relying_party": (
            "EVIDENCE_MISSING_HINT",
            "EvidenceRequirement",
            "RESULT_MISSING_HINT",
            "check_evidence_requirement",
        ),
        "results": (
            "Appraisal",
            "AppraisalCheck",
            "TIERS_BY_LABEL",
            "Tier",
            "encode_signed_result",
        ),
        "tokens": (
            "CLAIM_AGENT",
            "CLAIM_ATTESTATION_KEY",
            "CLAIM_ENDORSED_BY",
            "CLAIM_ENDORSED_KEY",
            "CLAIM_JOURNAL",
            "CLAIM_KEY_STORAGE",
            "CLAIM_MANIFESTS",
            "CLAIM_PCRS",
            "CLAIM_QUOTE",
            "CLAIM_QUOTE_SIGNATURE",
            "CLAIM_RECORD",
            "CWT_PREFIX",
            "EAR_JSON_NAMES",
            "EAT_CNF",
            "EAT_CWT_MEDIA_TYPE",
            "EAT_JWT_MEDIA_TYPE",
            "EAT_MEASUREMENTS",
            "EAT_SWNAME",
            "EAT_SWVERSION",
            "EVIDENCE_PROFILE",
            "KEY_STORAGE_SOFTWARE",
            "KEY_STORAGE_TPM",
            "looks_like_jwt",
            "parse_cwt",
            "parse_jwt",
        ),
        "tpm": (
            "DEFAULT_PCRS",
            "Tpm",
        ),
        "tpm_structures": ("parse_attestation_key",),
        "verifier": (
            "AppraisalPolicy",
            "appraise_evidence",
        ),
    },
)
