"""Evidence about what recorded a session, and what a verifier makes of it. Step: attest, appraise.
Follows RFC 9334 (RATS).

The roles are kept apart: an attester makes evidence (`attester`), a verifier appraises it into a
result (`verifier`, `ear`), and a relying party asks for a result that is good enough
(`relying_party`).
"""
