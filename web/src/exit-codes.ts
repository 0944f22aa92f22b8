/** The meaning of exit codes, for commands where it is certain. Mirrors `vacr.viewer.exit_codes`, and a test compares both. */

import tables from "./tables.json";

const MEANINGS: Record<string, string> = tables.exitCodes;
/** A `$` before a blank or the end of the quotation is one, and no variable. */
const QUOTED = /'[^']*'|"(?:[^"\\$`]|\$(?=["\s|)]))*"/g;
/** Syntax that may run another program, or change where the exit code comes from. A redirection may fail by itself. */
const OTHER_COMMANDS = /[;&`#<>\\\n\r(){}'"]|\$\(|\|\||^\s*!/;
const MAX_COMMAND_LENGTH = 10_000;

/** Return the meaning of a command's exit code, or "" if it is not certain. */
export function explainExitCode(command: string, code: number): string {
  if (code !== 1 || [...command].length > MAX_COMMAND_LENGTH) return "";
  const bare = command.trim().replace(QUOTED, "Q");
  if (OTHER_COMMANDS.test(bare)) return "";
  const last = bare.slice(bare.lastIndexOf("|") + 1).trim();
  const program = last.split(/\s+/)[0].split("/").at(-1) ?? "";
  return Object.hasOwn(MEANINGS, program) ? MEANINGS[program] : "";
}
