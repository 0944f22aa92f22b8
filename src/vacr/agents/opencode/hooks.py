"""OpenCode's hooks: a plugin that runs our command at each event, without waiting."""

from vacr.agents.agent import HookSettings

_PLUGIN = """\
// Written by `vacr hook install`; `vacr hook uninstall` removes it.
// It appends the events of a session to the spool of vacr.
// It never changes the behaviour of OpenCode, and never waits.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = $command
const [PROGRAM, ...ARGUMENTS] = COMMAND
const STDIO = ["pipe", "ignore", "ignore"]
const MOST_RUNNING = 4
const MOST_WAITING = 10000
const LAST_MS = 2000
const REPORTED_EVENTS = new Set([
  "session.created",
  "session.deleted",
  "session.idle",
  "session.error",
  "session.compacted",
  "message.updated",
  "message.removed",
  "message.part.updated",
  "message.part.removed",
  "todo.updated",
  "file.edited",
  "command.executed",
])

const waiting = []
let running = 0
let number = 0

function start(text) {
  running += 1
  let over = false
  const next = () => {
    if (over) return
    over = true
    running -= 1
    if (waiting.length) start(waiting.shift())
  }
  try {
    const child = spawn(PROGRAM, ARGUMENTS, { stdio: STDIO, detached: true })
    child.on("error", next)
    child.on("exit", next)
    child.stdin.on("error", () => {})
    child.stdin.end(text)
    child.unref()
  } catch {
    next()
  }
}

function report(session, type, data) {
  try {
    const event = { sessionID: session(), type, number: number++, time: Date.now(), data }
    const text = JSON.stringify(event)
    if (running < MOST_RUNNING) start(text)
    else if (waiting.length < MOST_WAITING) waiting.push(text)
  } catch {}
}

// When OpenCode ends, report the waiting events, as long as there is time.
process.on("exit", () => {
  const until = Date.now() + LAST_MS
  while (waiting.length && Date.now() < until) {
    try {
      const input = waiting.shift()
      spawnSync(PROGRAM, ARGUMENTS, { input, stdio: STDIO, timeout: LAST_MS })
    } catch {}
  }
})

function sessionOf({ type, properties }) {
  const id = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID
  return id ?? (type.startsWith("session.") ? properties?.info?.id : undefined)
}

function isReported(type) {
  return REPORTED_EVENTS.has(type) || type.startsWith("permission.")
}

// Messages and parts are reported once they are complete.
function isDone({ type, properties }) {
  const { info, part } = properties ?? {}
  if (type === "message.updated") {
    return info?.role !== "assistant" || info?.time?.completed !== undefined
  }
  if (type !== "message.part.updated") return true
  if (part?.type === "tool") {
    return part.state?.status === "completed" || part.state?.status === "error"
  }
  const grows = part?.type === "text" || part?.type === "reasoning"
  return !grows || part.time === undefined || part.time?.end !== undefined
}

function reportCall(type) {
  return async (input, output) => report(() => input.sessionID, type, { input, output })
}

export const VacrPlugin = async () => ({
  event: async ({ event }) => {
    try {
      const { type, properties } = event
      if (isReported(type) && isDone(event)) report(() => sessionOf(event), type, properties)
    } catch {}
  },
  "chat.message": reportCall("chat.message"),
  "tool.execute.before": reportCall("tool.execute.before"),
  "tool.execute.after": reportCall("tool.execute.after"),
})
"""

HOOKS = HookSettings(
    base="~/.config",
    under="opencode",
    file="plugin/vacr.js",
    project=".opencode/plugin/vacr.js",
    programs=("opencode",),
    variable="XDG_CONFIG_HOME",
    plugin=_PLUGIN,
    notice="Restart OpenCode to load the plugin.",
)
