"""OpenCode's hooks: a plugin that runs our command at each event, without waiting."""

from vacr.agents.agent import HookSettings

_PLUGIN = """\
// Written by `vacr hook install`; `vacr hook uninstall` removes it.
// It appends the events of a session to the spool of vacr. It never changes the behaviour of OpenCode, and never waits.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = $command
const MOST_RUNNING = 4
const MOST_WAITING = 10000
const LAST_MS = 2000
const KEPT =
  /^(session\\.(created|deleted|idle|error|compacted)|message\\.(updated|removed)|message\\.part\\.(updated|removed)|permission\\..*|todo\\.updated|file\\.edited|command\\.executed)$$/

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
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "ignore", "ignore"], detached: true })
    child.on("error", next)
    child.on("exit", next)
    child.stdin.on("error", () => {})
    child.stdin.end(text)
    child.unref()
  } catch {
    next()
  }
}

function tell(session, type, data) {
  try {
    const text = JSON.stringify({ sessionID: session(), type, number: number++, time: Date.now(), data })
    if (running < MOST_RUNNING) start(text)
    else if (waiting.length < MOST_WAITING) waiting.push(text)
  } catch {}
}

// When OpenCode ends, report the waiting events, as long as there is time.
process.on("exit", () => {
  const until = Date.now() + LAST_MS
  while (waiting.length && Date.now() < until) {
    try {
      spawnSync(COMMAND[0], COMMAND.slice(1), { input: waiting.shift(), stdio: ["pipe", "ignore", "ignore"], timeout: LAST_MS })
    } catch {}
  }
})

function sessionOf({ type, properties }) {
  const id = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID
  return id ?? (type.startsWith("session.") ? properties?.info?.id : undefined)
}

// Messages and parts are reported once they are complete.
function isDone({ type, properties }) {
  const { info, part } = properties ?? {}
  if (type === "message.updated") return info?.role !== "assistant" || info?.time?.completed !== undefined
  if (type !== "message.part.updated") return true
  if (part?.type === "tool") return part.state?.status === "completed" || part.state?.status === "error"
  return (part?.type !== "text" && part?.type !== "reasoning") || part.time?.end !== undefined || part.time === undefined
}

export const VacrPlugin = async () => ({
  event: async ({ event }) => {
    try {
      if (KEPT.test(event.type) && isDone(event)) tell(() => sessionOf(event), event.type, event.properties)
    } catch {}
  },
  "chat.message": async (input, output) => tell(() => input.sessionID, "chat.message", { input, output }),
  "tool.execute.before": async (input, output) => tell(() => input.sessionID, "tool.execute.before", { input, output }),
  "tool.execute.after": async (input, output) => tell(() => input.sessionID, "tool.execute.after", { input, output }),
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
