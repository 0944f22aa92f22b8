/** The notice about conversations that their agents will delete soon, with the button that keeps them. */

import { useState } from "preact/hooks";
import { act, type Keeping } from "./app-server";
import { nameAgentProgram } from "./header";
import { makeVisible, pluralize } from "./text";

const DAY = 24 * 3600 * 1000;

interface NoticeProps {
  keeping: Keeping;
  set: (keeping: Keeping) => void;
  open: (session: string) => void;
}

/** The conversations at risk, the progress of keeping them, and the result. Not shown if all three are empty. */
export function KeepNotice({ keeping, set, open }: NoticeProps) {
  const [problem, setProblem] = useState("");
  const { count, kept, folder, failed, failures } = keeping;
  const keep = () => {
    setProblem("");
    act<Keeping>("/api/keep").then(set, (error: Error) => setProblem(error.message));
  };
  if (!count && !kept && !keeping.is_running && !failures && !problem) return null;
  return (
    <section class="keep" aria-label="Conversations at risk">
      <div role="status">
        {keeping.is_running ? (
          <p>
            Keeping conversations … <progress value={keeping.done} max={keeping.total || 1} aria-label="Conversations kept" />
          </p>
        ) : (
          kept > 0 && (
            <p class="kept">
              Kept {pluralize(kept, "conversation")} in <code>{folder}</code>
            </p>
          )
        )}
        {count > 0 && !keeping.is_running && <p>{describeRisk(keeping)}</p>}
      </div>
      {count > 0 && !keeping.is_running && (
        <>
          <button type="button" onClick={keep}>
            {count > 1 ? "Keep them" : "Keep it"}
          </button>
          <details>
            <summary>Show which</summary>
            <ul>
              {keeping.sessions.map(({ session, title, agent, deleted_ms }) => (
                <li key={session}>
                  <button type="button" class="more" onClick={() => open(session)}>
                    {title}
                  </button>{" "}
                  <span class="soft">
                    {nameAgentProgram(agent)} · {describeTime(deleted_ms)}
                  </span>
                </li>
              ))}
              {count > keeping.sessions.length && <li>and {count - keeping.sessions.length} more</li>}
            </ul>
          </details>
        </>
      )}
      {(failures > 0 || problem) && (
        <div role="alert" class="bad">
          {problem && <p>{makeVisible(problem)}</p>}
          {failures > 0 && (
            <>
              <p>{pluralize(failures, "error")}. Not everything was kept:</p>
              <ul>
                {failed.map(({ source, error, hint }) => (
                  <li>
                    {source && `${source}: `}
                    {error}. {hint}
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
    </section>
  );
}

/** Return how many conversations are deleted, and when the first of them is. */
function describeRisk({ count, sessions }: Keeping): string {
  const first = describeTime(sessions[0].deleted_ms);
  const many = `${pluralize(count, "conversation")} will be deleted`;
  return count > 1 ? `${many}, the first ${first}.` : `${many} ${first}.`;
}

/** Return when an agent deletes a conversation. It does so when it starts, if the time is over. */
function describeTime(milliseconds: number): string {
  const days = Math.ceil((milliseconds - Date.now()) / DAY);
  return days > 0 ? `within ${pluralize(days, "day")}` : "when its agent starts next";
}
