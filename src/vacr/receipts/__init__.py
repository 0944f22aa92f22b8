"""Receipts of transparency logs: the tree, its proofs, and what a log signs. Step: register,
verify.
"""
