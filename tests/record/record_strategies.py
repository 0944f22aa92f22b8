"""Valid records that are hard to convert: colliding names, lookalike extensions, false marks."""

from hypothesis import strategies as st

STUBS = [
    "/session",
    "/vcs/type",
    "/recording-agent/name",
    "/session/environment/working-dir",
    "/session/environment/vcs/type",
    "/session/entries/0/content",
    "/session/entries/0/type",
    "/session/entries/0/children/0/content",
    "/session/entries/0/children/0/type",
    "/session/entries/1/type",
    "/session/agent-meta/model-id",
]
NAMES = [
    "vacr",
    "vendor-ext",
    "metadata",
    "vendor",
    "version",
    "data",
    "format",
    "session-id",
    "model-id",
    "token-usage",
    "stop-reason",
    "contributor",
    "task-result",
    "recording-agent",
    "event-type",
    "content",
    "working-dir",
    "type",
    "native",
    "é",
    "",
]
TEXTS = st.sampled_from(
    [
        "",
        "unknown",
        "vacr",
        "user",
        "queue",
        "system-event",
        "tool-call",
        "interactive",
        "autonomous",
        "x",
    ]
)
VERSIONS = {
    3: st.sampled_from(["3.0.0-draft", "3.0.0-draft", "3", "3.1"]),
    2: st.sampled_from(["2.0.0-draft", "2.0.0-draft", "2", "2.1"]),
    1: st.sampled_from(["1.0.0", "1", "1.0"]),
}
TIMES = st.sampled_from(
    ["2026-01-01T00:00:00Z", "2026-02-30T23:59:60.5+01:00", 0, 1772000000000, -5, 0.5, 2**62]
)
STAMPS = st.sampled_from(["2026-01-01T00:00:00Z", "2026-02-30T23:59:60.5+01:00"])
COUNTS = st.integers(0, 2**60)
CONTRIBUTORS = st.sampled_from(
    [
        {"type": "ai"},
        {"type": "ai", "model-id": "m"},
        {"type": "ai", "model_id": "m"},
        {"type": "robot"},
        {"type": ["ai"]},
    ]
)
MARKS = st.fixed_dictionaries(
    {},
    optional={
        "stubs": st.lists(st.sampled_from(STUBS), max_size=3, unique=True).map(sorted)
        | st.just(["/session/entries/0/type"] * 2),
        "version": VERSIONS[2] | VERSIONS[3] | VERSIONS[1],
        "tool": st.just({}),
    },
)
OURS = (
    st.fixed_dictionaries(
        {}, optional={"converted": MARKS | st.none(), "source": st.just({"format": "f"})}
    )
    | st.none()
)


def make_extensions(values, keys):
    """Return vendor extensions of version 2."""
    data = st.dictionaries(keys, values, max_size=3) | st.fixed_dictionaries(
        {}, optional={"vacr": OURS, "metadata": values}
    )
    return st.fixed_dictionaries(
        {"vendor": st.sampled_from(["vacr", "vacr", "acme"])},
        optional={"version": TEXTS, "data": data},
    ) | st.fixed_dictionaries({"vendor": st.just("vacr"), "data": data})


class Form:
    """Values and records in one encoding: JSON, or CBOR with its integer keys and bytes."""

    def __init__(self, *, cbor):
        keys = st.sampled_from([*NAMES, 0, -7, 2**63] if cbor else NAMES)
        scalars = st.none() | TEXTS | st.integers(-3, 3) | st.booleans() | CONTRIBUTORS | OURS
        if cbor:
            scalars |= st.binary(max_size=2)
        self.values = st.recursive(
            scalars,
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(keys, inner, max_size=2)
                | make_extensions(inner, keys)
            ),
            max_leaves=5,
        )
        self.extensions = make_extensions(self.values, keys)
        self.any_keys = st.dictionaries(
            keys | st.binary(max_size=1) | st.booleans() if cbor else keys, self.values, max_size=3
        )
        self.sessions = TEXTS | st.binary(max_size=3) if cbor else TEXTS

    # --- version 3 ---

    def make_open_map(self, known, required=(), more=()):
        """Return maps of version 3: known members, and others under unknown names."""
        free = {name: self.values for name in (*NAMES, *more) if name not in known}
        free["vendor-ext"] = self.extensions | self.values
        members = st.fixed_dictionaries(
            {name: known[name] for name in required},
            optional={name: value for name, value in known.items() if name not in required},
        )
        others = st.lists(st.sampled_from(sorted(free)), max_size=2, unique=True).flatmap(
            lambda names: st.fixed_dictionaries({name: free[name] for name in names})
        )
        return st.tuples(members, others).map(lambda both: both[1] | both[0])

    def usage_v3(self):
        return self.make_open_map({"input": COUNTS, "total": COUNTS, "cost": st.just(0.5)})

    def vcs_v3(self):
        return self.make_open_map({"type": TEXTS, "revision": TEXTS}, ["type"])

    def entries_v3(self):
        base = {"timestamp": TIMES, "id": TEXTS}
        kinds = [
            (
                "user",
                {
                    "content": self.values,
                    "model-id": TEXTS,
                    "parent-id": TEXTS,
                    "token-usage": self.usage_v3(),
                },
                [],
            ),
            (
                "assistant",
                {"content": self.values, "model-id": TEXTS, "token-usage": self.usage_v3()},
                [],
            ),
            (
                "tool-call",
                {"name": TEXTS, "input": self.values, "call-id": TEXTS},
                ["name", "input"],
            ),
            ("tool-result", {"output": self.values, "is-error": st.booleans()}, ["output"]),
            ("reasoning", {"content": st.just("") | self.values, "encrypted": TEXTS}, ["content"]),
            (
                "system-event",
                {
                    "event-type": TEXTS,
                    "data": st.dictionaries(st.sampled_from(NAMES), self.values, max_size=2)
                    | self.extensions,
                },
                ["event-type"],
            ),
        ]

        def entry(children):
            return st.one_of(
                [
                    self.make_open_map(
                        {"type": st.just(kind), **base, **known, "children": children},
                        ["type", *required],
                        ["stop-reason"],
                    )
                    for kind, known, required in kinds
                ]
                + [make_vendor_events(children, self.extensions, base)]
            )

        return st.lists(entry(st.lists(entry(st.just([])), max_size=2)), max_size=2)

    def records_v3(self):
        environment = self.make_open_map(
            {"working-dir": TEXTS, "vcs": self.vcs_v3(), "sandboxes": st.just(["/x"])},
            ["working-dir"],
        )
        agent = self.make_open_map(
            {"model-id": TEXTS, "model-provider": TEXTS, "cli-name": TEXTS},
            ["model-id", "model-provider"],
        )
        session = self.make_open_map(
            {
                "format": TEXTS,
                "session-id": self.sessions,
                "session-start": TIMES,
                "agent-meta": agent,
                "environment": environment,
                "entries": self.entries_v3(),
            },
            ["session-id", "agent-meta", "entries"],
            ["task-description"],
        )
        stub = {
            "session-id": "x",
            "agent-meta": {"model-id": "unknown", "model-provider": "unknown"},
            "entries": [],
        }
        known = {
            "version": VERSIONS[3],
            "id": st.just("x"),
            "session": session | st.just(stub),
            "created": TIMES,
            "file-attribution": make_attributions("-"),
            "vcs": self.vcs_v3(),
            "recording-agent": self.make_open_map({"name": TEXTS, "version": TEXTS}, ["name"]),
        }
        plain = self.make_open_map(known, ["version", "id", "session"])
        extra = st.fixed_dictionaries({}, optional={"vacr": OURS, "metadata": self.extensions})
        return st.tuples(plain, extra).map(lambda both: both[0] | both[1])

    # --- version 2 ---

    def make_closed_map(self, required, **optional):
        """Return maps of version 2: known members, and a vendor extension."""
        members = {name.replace("_", "-"): value for name, value in optional.items()}
        return st.fixed_dictionaries(required, optional={**members, "vendor-ext": self.extensions})

    def entries_v2(self):
        usage = self.make_closed_map({}, input=COUNTS, cost=st.just(0.5))
        contributor = st.sampled_from([{"type": "ai"}, {"type": "human", "model_id": "m"}])

        def entry(children):
            def make_entry(kind, required, **optional):
                return self.make_closed_map(
                    {"type": st.just(kind), **required},
                    timestamp=TIMES,
                    id=TEXTS,
                    session_id=TEXTS,
                    children=children,
                    **optional,
                )

            vendors = st.fixed_dictionaries(
                {
                    "type": st.sampled_from(
                        ["queue", "", "tool-call", "tool-result", "system-event"]
                    ),
                    "vendor-ext": self.extensions,
                },
                optional={
                    "timestamp": TIMES,
                    "id": TEXTS,
                    "session-id": TEXTS,
                    "children": children,
                },
            )
            return st.one_of(
                make_entry("user", {}, content=self.values, parent_id=TEXTS),
                make_entry(
                    "assistant",
                    {},
                    content=self.values,
                    stop_reason=TEXTS,
                    token_usage=usage,
                    model_id=TEXTS,
                ),
                make_entry(
                    "tool-call",
                    {"name": TEXTS, "input": self.values},
                    call_id=TEXTS,
                    contributor=contributor,
                ),
                make_entry("tool-result", {"output": self.values}, status=TEXTS),
                make_entry("reasoning", {}, content=st.just("") | self.values, subject=TEXTS),
                make_entry("system-event", {"event-type": TEXTS}, data=self.extensions),
                vendors,
            )

        return st.lists(entry(st.lists(entry(st.just([])), max_size=2)), max_size=2)

    def records_v2(self):
        vcs = self.make_closed_map({}, type=TEXTS, revision=TEXTS)
        envelope = {
            "session-id": TEXTS,
            "agent-meta": self.make_closed_map(
                {"model-id": TEXTS, "model-provider": TEXTS}, cli_name=TEXTS
            ),
            "entries": self.entries_v2(),
        }
        optional = {
            "session_start": TIMES,
            "environment": self.make_closed_map({}, working_dir=TEXTS, vcs=vcs),
        }
        interactive = self.make_closed_map(
            {"format": st.just("interactive"), **envelope}, **optional
        )
        autonomous = self.make_closed_map(
            {"format": st.just("autonomous"), **envelope}, task_description=TEXTS, **optional
        )
        return st.fixed_dictionaries(
            {"version": VERSIONS[2], "id": st.just("x")},
            optional={
                "session": interactive | autonomous,
                "created": TIMES,
                "file-attribution": make_attributions("_"),
                "vcs": vcs,
                "recording-agent": st.fixed_dictionaries(
                    {}, optional={"name": TEXTS, "version": TEXTS}
                ),
                "metadata": self.extensions,
            },
        )

    # --- version 1 ---

    def records_v1(self):
        algorithms = st.dictionaries(
            st.sampled_from(
                ["/files/0/conversations/0/ranges/0", "/files/0/conversations/0/ranges/1", "/x"]
            ),
            TEXTS | st.none(),
            max_size=2,
        )
        ours = st.fixed_dictionaries(
            {"vacr": st.fixed_dictionaries({"content-hash-alg": algorithms}) | OURS}
        )
        return st.fixed_dictionaries(
            {
                "version": VERSIONS[1],
                "id": TEXTS,
                "timestamp": STAMPS,
                "files": make_attributions("_", algorithm=False).map(
                    lambda attribution: attribution["files"]
                ),
            },
            optional={
                "vcs": st.fixed_dictionaries({"type": TEXTS, "revision": TEXTS}),
                "tool": st.fixed_dictionaries({}, optional={"name": TEXTS, "version": TEXTS}),
                "metadata": self.any_keys | ours,
            },
        )


def make_vendor_events(children, extension, base):
    """Return the events of version 3 that a vendor's own entries become."""
    return st.fixed_dictionaries(
        {"type": st.just("system-event"), "event-type": TEXTS, "vendor-ext": extension},
        optional={**base, "session-id": TEXTS, "children": children},
    )


def make_attributions(joint, *, algorithm=True):
    """Return file attributions; `joint` joins the words of a name."""

    def name(text):
        return text.replace("-", joint)

    contributor = st.fixed_dictionaries(
        {"type": st.sampled_from(["human", "ai", "mixed", "unknown"])},
        optional={name("model-id"): TEXTS},
    )
    optional = {name("content-hash"): TEXTS, "contributor": contributor}
    if algorithm:
        optional[name("content-hash-alg")] = TEXTS
    ranges = st.fixed_dictionaries(
        {name("start-line"): COUNTS, name("end-line"): COUNTS}, optional=optional
    )
    resource = st.fixed_dictionaries({"type": TEXTS, "url": st.just("https://example.org/1")})
    conversation = st.fixed_dictionaries(
        {"ranges": st.lists(ranges, max_size=2)},
        optional={
            "url": st.just("x:y"),
            "contributor": contributor,
            "related": st.lists(resource, max_size=1),
        },
    )
    file = st.fixed_dictionaries(
        {"path": TEXTS, "conversations": st.lists(conversation, max_size=2)}
    )
    return st.fixed_dictionaries({"files": st.lists(file, max_size=2)})


FORMS = [Form(cbor=False), Form(cbor=True)]
