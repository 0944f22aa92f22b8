"""The action that audits a pull request: `action.yml` runs this module.

It verifies the records in a repository, finds out who wrote the new lines, and reports the result
as annotations, outputs, a summary, a JSON report and pages.

Only verified records count as evidence about lines. Without a trusted key, all unmodified records
count, and the verdict says that they prove nothing. Files without lines, such as programs and
submodules, are of unknown origin. The verdict is the worst of all results:

    >>> from vacr.app.audit_action import AUDIT_UNVERIFIED, Audit
    >>> lines = {"total": {"unknown": 0}, "no-text": []}
    >>> Audit([{"verified": True}], lines, trusting=True).verdict
    'known'
    >>> Audit([{"verified": False}], lines, trusting=True).fails(AUDIT_UNVERIFIED)
    True

The pull request is untrusted: the action overwrites no file of its repository, follows no link out
of it, and takes keys from its base.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.app.github import (
    CONTRIBUTOR_LABELS,
    GitHubWorkflow,
    InputKeys,
    format_cell,
    format_table,
    read_choice_input,
    read_flag_input,
    read_input,
    read_input_paths,
    run_action,
)
from vacr.blame import Repository, blame_commit, find_work_tree_names
from vacr.console import Voice, align_columns, encode_output_document, get_terminal_width
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.evidence import Tier
from vacr.files import read_bytes, walk_files
from vacr.verification import ROLE_VERIFIER, quote_misleading_name
from vacr.workflows import (
    CONTRIBUTOR_TYPES,
    RECORD_SUFFIXES,
    STATEMENT_SUFFIX,
    EvidenceOptions,
    PageRun,
    VerificationOptions,
    build_commit_document,
    build_sealed_source_path,
    build_verdict_rows,
    find_statement_pairs,
    format_count,
    format_signer_cell,
    format_time_cell,
    format_verdict_totals,
    is_sealed_source,
    judge_statements,
    load_trust_stores,
    load_verification_policy,
    read_input_records,
)

AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_KNOWN = "unverified", "unknown", "known"
AUDIT_NEVER_FAILS = "never"
AUDIT_FAIL_POLICIES = (AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_NEVER_FAILS)
_AUDIT_FAILED_EXIT = 1
_OWN_SUFFIXES = (*RECORD_SUFFIXES, STATEMENT_SUFFIX)
_NO_TEXT_MESSAGE = "not a text file: its author is unknown"
_EVIDENCE_TIERS = ("", Tier.AFFIRMING.label, Tier.WARNING.label)
_SHORT_COMMIT_LENGTH = 12
_VERDICT_TEXTS = {
    AUDIT_UNVERIFIED: "❌ **unverified**: some records are not verified.",
    AUDIT_UNKNOWN: (
        "❔ **unknown**: all records are verified, but some lines or files have no known author."
    ),
    AUDIT_KNOWN: "✅ **known**: all records are verified, and they prove who wrote each new line.",
}
_NO_KEYS_TEXT = (
    "❌ **unverified**: no trusted key given, so the records prove nothing. Add a trust store, "
    "`.vacr/trust.toml`, or a key with the input `trust`."
)


@dataclass(frozen=True)
class Audit:
    """The result of an audit: verdicts about records, and the authors of new lines."""

    records: list[dict[str, Any]]
    """The verdicts, as in `vacr verify --format json`."""
    lines: dict[str, Any]
    """The lines, as in `vacr blame --commit --format json`."""
    trusting: bool
    """Whether there are trusted keys."""
    missing: list[str] = field(default_factory=list)
    """Paths that do not exist."""
    left_out: list[str] = field(default_factory=list)
    """Verified files that could not be used."""

    @property
    def verdict(self) -> str:
        """Return the worst result: `unverified`, `unknown` or `known`.

        `unknown` means that all records are verified, but a line or file has no known author.
        """
        if self.failed:
            return AUDIT_UNVERIFIED
        is_known = not self.lines["total"]["unknown"] and not self.lines["no-text"]
        return AUDIT_KNOWN if is_known else AUDIT_UNKNOWN

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Return the verdicts about records that are not verified."""
        return [verdict for verdict in self.records if not verdict["verified"]]

    def fails(self, policy: str) -> bool:
        """Return whether the job fails under the policy of the input `fail-on`.

        `unverified` fails for that verdict, `unknown` for both bad verdicts, `never` for none.
        """
        if policy == AUDIT_NEVER_FAILS:
            return False
        return self.verdict == AUDIT_UNVERIFIED or policy == self.verdict == AUDIT_UNKNOWN

    def build_document(self) -> dict[str, Any]:
        """Return the audit for JSON output."""
        return {
            "verdict": self.verdict,
            "records": self.records,
            "lines": self.lines,
            "missing": self.missing,
            "left-out": self.left_out,
        }


def audit_pull_request(workflow: GitHubWorkflow) -> int:
    """Audit the pull request, report the result, and return the exit code.

    Raises:
        VacrError: an input is wrong, or something cannot be read.
    """
    paths = read_input_paths("records")
    policy = read_choice_input("fail-on", AUDIT_FAIL_POLICIES)
    if not paths:
        raise UsageError(
            "the input `records` is empty",
            hint="Set it to the folder or the files of the records.",
        )
    repository = Repository(".")
    base, revision = _find_commit_range(repository)
    temporary = Path(os.environ.get("RUNNER_TEMP") or ".")
    report = read_input("report") or str(temporary / "vacr-report.json")
    _check_output_paths(repository, report, read_input("pages"))
    _check_record_links(repository, paths)
    with TemporaryDirectory(prefix="vacr-") as folder:
        keys = InputKeys(Path(folder), repository, base)
        options = _read_verification_options(keys)
        for remark in keys.remarks:
            workflow.annotate("warning", remark)
        trusting = bool(read_input("trust") or options.stores)
        audit = audit_commits(paths, options, repository, revision, trusting=trusting)
        _print_audit(audit)
        pages = _write_pages(paths, options, read_input("pages"))
    _annotate_audit(audit, policy, workflow)
    document = {**audit.build_document(), "fail-on": policy, "pages": pages}
    Path(report).write_bytes(encode_output_document(document) + b"\n")
    workflow.summarise(format_audit_summary(audit))
    for kind in CONTRIBUTOR_TYPES:
        workflow.output(f"{kind}-lines", audit.lines["total"][kind])
    for name, value in (("verdict", audit.verdict), ("report", report), ("pages", pages)):
        workflow.output(name, value)
    return _AUDIT_FAILED_EXIT if audit.fails(policy) else 0


# The inputs


def _find_commit_range(repository: Repository) -> tuple[str | None, str]:
    """Return the base commit and the audited range `base..head`, from the inputs.

    Without a base, return `None` and the head commit alone.

    Raises:
        UnreadableInput: a commit does not exist in the repository.
    """
    head, base = repository.resolve_commit(read_input("head") or "HEAD"), read_input("base")
    # For a new branch, GitHub names a commit of zeros as the one before.
    if not base.strip("0"):
        return None, head
    try:
        first = repository.resolve_commit(base)
    except UnreadableInput as error:
        hint = (
            "Set fetch-depth: 0 for actions/checkout. After a force push, choose another commit "
            "with the input base."
        )
        raise UnreadableInput(
            error.message, where=error.where, hint=f"{error.hint}\n{hint}"
        ) from error
    return first, f"{first}..{head}"


def _check_output_paths(repository: Repository, *outputs: str) -> None:
    """Check that no output is a file of the repository: it may be a link, or a forged page.

    Raises:
        UsageError: an output is a file of the repository.
    """
    head = repository.resolve_commit("HEAD")
    for path in filter(None, outputs):
        if any(repository.has_path(head, name) for name in find_work_tree_names(repository, path)):
            raise UsageError(
                f"{path} is a file of the repository, and must not be overwritten",
                hint="Choose another path, for example in ${{ runner.temp }}.",
            )


def _check_record_links(repository: Repository, paths: list[str]) -> None:
    """Check that no link leads out of the repository: pages would show its target.

    The links are the paths of records themselves, and the files in these folders.

    Raises:
        UsageError: a link does.
    """
    head = repository.resolve_commit("HEAD")
    # A folder that cannot be listed is reported when its records are read.
    below = (name for path in paths for name in walk_files(path, lambda _: None))
    for path in (*paths, *filter(os.path.islink, below)):
        is_inside = bool(find_work_tree_names(repository, os.path.realpath(path)))
        if not is_inside and any(
            repository.has_path(head, name) for name in find_work_tree_names(repository, path)
        ):
            raise UsageError(
                f"{path} is a link that leads out of the repository",
                hint="Use the target of the link instead.",
            )


def _read_verification_options(keys: InputKeys) -> VerificationOptions:
    """Return the requirements on statements, from the inputs.

    Raises:
        UsageError: only one of `require-evidence` and `verifier-key` is set.
        Unreachable: a trust store or a log key is not in the base commit.
    """
    tier = read_choice_input("require-evidence", _EVIDENCE_TIERS)
    verifiers = keys.files("verifier-key")
    has_verifier_key = bool(read_input("verifier-key"))
    stores = keys.stores()
    store = load_trust_stores(stores)
    store_verifiers = store is not None and bool(store.list_parties(ROLE_VERIFIER))
    if tier and not has_verifier_key and not store_verifiers:
        raise UsageError(
            "the input `require-evidence` needs `verifier-key`",
            hint="Set verifier-key to the public key of an evidence verifier that you trust.",
        )
    if has_verifier_key and not tier:
        raise UsageError(
            "the input `verifier-key` needs `require-evidence`",
            hint=f"Set require-evidence to {' or '.join(filter(None, _EVIDENCE_TIERS))}.",
        )
    evidence = None
    if tier:
        evidence = EvidenceOptions(tier, verifier_keys=verifiers, store_verifiers=store_verifiers)
    return VerificationOptions(
        trust=keys.files("trust"),
        stores=stores,
        log_keys=keys.files("log-key"),
        needs_receipt=read_flag_input("require-receipt"),
        issuer=read_input("issuer") or None,
        timestamp_trust=keys.files("timestamp-trust"),
        needs_timestamp=read_flag_input("require-timestamp"),
        evidence=evidence,
    )


# The audit


def audit_commits(
    paths: Sequence[str],
    options: VerificationOptions,
    repository: Repository,
    revision: str,
    *,
    trusting: bool,
) -> Audit:
    """Verify the records at some paths, and find the authors of the lines that commits added.

    `revision` is a commit, or a range such as `a..b`. If `trusting`, there are trusted keys, and
    only records that they signed count as evidence.

    Raises:
        VacrError: trust material cannot be read, or the commits do not exist.
    """
    load_verification_policy(options)
    existing = [path for path in paths if Path(path).exists()]
    pairs = list(dict.fromkeys(pair for path in existing for pair in find_statement_pairs(path)))
    verdicts = list(judge_statements(pairs, options))
    believed = [
        verdict["file"]
        for verdict in verdicts
        if verdict["file"] and (verdict["verified"] or not trusting)
    ]
    records_by_file, left_out = _read_believed_records(believed)
    records = [record for records in records_by_file.values() for record in records]
    added = blame_commit(repository, revision, records)
    own = _find_own_files(repository, verdicts, records_by_file)
    lines = build_commit_document(
        replace(
            added,
            files=[file for file in added.files if file[0] not in own],
            no_text=[name for name in added.no_text if name not in own],
        )
    )
    missing = [path for path in paths if path not in existing]
    return Audit(verdicts, lines, trusting, missing, left_out)


def _find_own_files(
    repository: Repository,
    verdicts: list[dict[str, Any]],
    records_by_file: dict[str, list[dict[str, Any]]],
) -> set[str]:
    """Return the names of records, statements and sealed sources: their lines need no author.

    Other signed files, such as source code, are not among them, and neither is the target of a
    link under another kind of name: a statement may also contain unsigned bytes. `verdicts` are
    about all records, and `records_by_file` are the records of the verified files.
    """
    names = [
        path
        for verdict in verdicts
        for path in (verdict["file"], verdict["statement"])
        if path and path.endswith(_OWN_SUFFIXES)
    ]
    # A statement in the commits counts even if it was deleted since.
    names += [f"{path}{STATEMENT_SUFFIX}" for path in names if path.endswith(RECORD_SUFFIXES)]
    own = {
        name for name in find_work_tree_names(repository, *names) if name.endswith(_OWN_SUFFIXES)
    }
    # The statement of a record does not cover its sealed source; the digests in the record do.
    signed = [*records_by_file, *_list_sealed_sources(records_by_file)]
    return own.union(find_work_tree_names(repository, *signed))


def _list_sealed_sources(records_by_file: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the paths of the sealed sources that contain what the verified records say."""
    sources = [
        (build_sealed_source_path(Path(path)), records)
        for path, records in records_by_file.items()
        if path.endswith(RECORD_SUFFIXES)
    ]
    return [
        str(path)
        for path, records in sources
        if any(is_sealed_source(path, record) for record in records)
    ]


def _read_believed_records(
    names: Sequence[str],
) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the records of each readable file by its name, and a message for each other file."""
    records, left_out = {}, []
    for name in names:
        try:
            records[name] = _read_signed_file(name)
        except VacrError as error:
            left_out.append(f"{name}: {error.message}")
    return records, left_out


def _read_signed_file(name: str) -> list[dict[str, Any]]:
    """Return the records in a file, or the records of its sessions.

    A session is read from a copy in an empty folder: files next to it are not signed.

    Raises:
        VacrError: the file cannot be read, or is neither a valid record nor a session.
    """
    if name.endswith(RECORD_SUFFIXES):
        return [item.record for item in read_input_records(name)]
    with TemporaryDirectory(prefix="vacr-") as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(read_bytes(name))
        return [item.record for item in read_input_records(str(copy))]


# The report


def _print_audit(audit: Audit) -> None:
    """Print the verdicts and the lines into the log of the job."""
    voice = Voice("text", quiet=False, verbose=0)
    if audit.records:
        rows = build_verdict_rows(audit.records)
        width = get_terminal_width(sys.stdout)
        for line in align_columns(rows, right=frozenset(), width=width):
            voice.result(line)
        voice.result(format_verdict_totals(audit.records))
    for file in audit.lines["files"]:
        counts = ", ".join(f"{file[kind]} {kind}" for kind in CONTRIBUTOR_TYPES)
        voice.result(f"{quote_misleading_name(file['path'])}: {counts}")
    for name in audit.lines["no-text"]:
        voice.result(f"{quote_misleading_name(name)}: not a text file")
    voice.result(f"verdict: {audit.verdict}")


def _write_pages(paths: list[str], options: VerificationOptions, folder: str) -> str:
    """Write pages of the records into a folder, and return the folder.

    Several paths get a subfolder each. Without a folder or records, return an empty text. Errors
    are only printed.
    """
    existing = [path for path in paths if Path(path).exists()]
    if not folder or not existing:
        return ""
    voice = Voice("text", quiet=False, verbose=0)

    def report_error(error: VacrError) -> None:
        """Print why a page was not written."""
        voice.error(f"vacr: {error}", error.hint)

    for number, path in enumerate(existing, 1):
        target = Path(folder) if len(existing) == 1 else Path(folder) / str(number)
        try:
            # Unverified records are already reported, and their pages say so, too.
            run = PageRun(path, options, None, report_error)
            run.report_page = lambda page: voice.result(page.describe())
            run.write(f"{target}/", overwrite=True)
        except VacrError as error:
            report_error(error)
            continue
        if run.is_archive:
            voice.result(f"{run.index}: {format_count(len(run.pages), 'conversation')}")
    return folder


def _annotate_audit(audit: Audit, policy: str, workflow: GitHubWorkflow) -> None:
    """Annotate unverified records, skipped paths, and lines with their authors.

    The policy of the input `fail-on` decides which annotations are errors.
    """
    for verdict in audit.failed:
        name = os.path.normpath(verdict["file"] or verdict["statement"])  # as GitHub names it
        level = "warning" if policy == AUDIT_NEVER_FAILS else "error"
        workflow.annotate(level, f"not verified: {verdict['message']}", name)
    for path in audit.missing:
        workflow.annotate(
            "warning",
            f"no records at {path}: the path does not exist; correct the input `records`",
        )
    for reason in audit.left_out:
        workflow.annotate("warning", f"skipped: {reason}")
    ranges = [
        (file["path"], line_range) for file in audit.lines["files"] for line_range in file["ranges"]
    ]
    # GitHub shows only some annotations, so the longest ranges come first.
    ranges.sort(key=lambda item: item[1]["start-line"] - item[1]["end-line"])
    for path, line_range in ranges:
        lines = (line_range["start-line"], line_range["end-line"])
        if line_range["contributor"]["type"] != AUDIT_UNKNOWN:
            workflow.annotate("notice", _describe_line_range(line_range), path, lines)
        elif policy == AUDIT_UNKNOWN:
            workflow.annotate("error", "the author of these lines is unknown", path, lines)
    for name in audit.lines["no-text"]:
        level = "error" if policy == AUDIT_UNKNOWN else "warning"
        workflow.annotate(level, _NO_TEXT_MESSAGE, name)


def _describe_line_range(line_range: dict[str, Any]) -> str:
    """Return author, conversation, evidence and prompt of a proven range of lines, as one text.

    For example, `ai by model-1, conversation c-1, recorded: Add a test`. An unknown model or prompt
    is left out.
    """
    contributor = line_range["contributor"]
    by = f" by {contributor['model-id']}" if "model-id" in contributor else ""
    prompt = f": {line_range['prompt']}" if "prompt" in line_range else ""
    session, evidence = line_range["session-id"], line_range["evidence"]
    return f"{contributor['type']}{by}, conversation {session}, {evidence}{prompt}"


# The summary of the job


def format_audit_summary(audit: Audit) -> str:
    """Return the summary of an audit in Markdown: verdict, lines by author, and records."""
    verdict = (
        _VERDICT_TEXTS[audit.verdict]
        if audit.trusting or audit.verdict != AUDIT_UNVERIFIED
        else _NO_KEYS_TEXT
    )
    lines = ["## Who wrote these lines", "", verdict, ""]
    lines += _format_lines(audit.lines)
    lines += _format_records(audit)
    return "\n".join(lines)


def _format_lines(lines: dict[str, Any]) -> Iterator[str]:
    """Yield Markdown about new lines: a total, and tables by author, file and conversation."""
    total = lines["total"]
    span = (
        f"{lines['since'][:_SHORT_COMMIT_LENGTH]}..{lines['commit'][:_SHORT_COMMIT_LENGTH]}"
        if "since" in lines
        else lines["commit"][:_SHORT_COMMIT_LENGTH]
    )
    count = f", {format_count(len(lines['commits']), 'commit')}" if "since" in lines else ""
    new_lines = format_count(total["lines"], "new line")
    files = format_count(len(lines["files"]), "file")
    yield from (f"{new_lines} in {files} (`{span}`{count}).", "")
    shares = [
        [CONTRIBUTOR_LABELS[kind], str(total[kind]), _format_share(total[kind], total["lines"])]
        for kind in CONTRIBUTOR_TYPES
    ]
    yield from format_table(["who", "lines", "share"], shares, numbers=2)
    listed = sorted(lines["files"], key=lambda file: (-file["unknown"], -file["lines"]))
    rows = [
        [format_cell(file["path"]), *(str(file[kind]) for kind in CONTRIBUTOR_TYPES)]
        for file in listed
    ]
    yield from format_table(["file", *CONTRIBUTOR_LABELS.values()], rows, numbers=4)
    yield from format_table(
        ["new or changed, not a text file"], [[format_cell(name)] for name in lines["no-text"]]
    )
    yield from format_table(
        ["conversation", "model", "lines", "prompt"], _count_conversation_lines(lines["files"])
    )


def _count_conversation_lines(files: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Return rows with conversation, author, number of lines and prompt, the most lines first.

    Lines that no conversation proves are not counted.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for line_range in (
        line_range for file in files for line_range in file["ranges"] if "session-id" in line_range
    ):
        contributor = line_range["contributor"]
        by = contributor.get("model-id") or contributor["type"]
        counts[line_range["session-id"], by, line_range.get("prompt", "")] += (
            line_range["end-line"] - line_range["start-line"] + 1
        )
    return [
        [format_cell(session), format_cell(by), str(count), format_cell(prompt)]
        for (session, by, prompt), count in counts.most_common()
    ]


def _format_records(audit: Audit) -> Iterator[str]:
    """Yield Markdown about the records: a total and a table, unverified records first."""
    if not audit.records:
        yield from ("No records.", "")
        return
    failed = len(audit.failed)
    records = format_count(len(audit.records), "record")
    yield from (f"{records}: {len(audit.records) - failed} verified, {failed} not.", "")
    rows = [
        [
            "✅" if verdict["verified"] else "❌",
            format_cell(verdict["file"] or verdict["statement"]),
            format_cell(format_signer_cell(verdict)),
            format_cell(format_time_cell(verdict)),
            format_cell(verdict.get("message", "")),
        ]
        for verdict in sorted(audit.records, key=lambda verdict: verdict["verified"])
    ]
    yield from format_table(["", "record", "signer", "signed", "problem"], rows)


def _format_share(count: int, total: int) -> str:
    """Return a share in percent, such as `40 %`; empty if the total is 0."""
    return f"{100 * count / total:.0f} %" if total else ""


if __name__ == "__main__":
    sys.exit(run_action(audit_pull_request))
