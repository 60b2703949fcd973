import type { AttachedEvent } from "@awaken/runtime";
import { eventLine } from "../event-line.ts";
import { EXIT } from "../exit-codes.ts";
import { findRecord } from "../find-record.ts";
import { catchInterrupts } from "../interrupts.ts";
import { openRecords } from "../load-project.ts";
import { Output } from "../output.ts";
import { brief } from "../printable.ts";
import type { ProjectOptions, Shell } from "../shell.ts";
import { printTickets } from "../ticket-lines.ts";

export interface AttachCommandOptions extends ProjectOptions {
  readonly after?: string;
  readonly json?: boolean;
}

const MAX_TEXT = 160;

/** What a line of its own is worth to whoever looks on. */
function lineOf(event: AttachedEvent): string | undefined {
  switch (event.type) {
    case "run-start":
      return `run ${event.runId} ${event.resumed ? "goes on" : "begins"}`;
    case "run-end":
      return `run ${event.runId} is ${event.result.status}`;
    case "input-accepted":
      return `asked: ${brief(JSON.stringify(event.messages.flatMap(({ content }) => content)), MAX_TEXT)}`;
    case "decision-taken":
      return `${event.toolName}: ${event.action}${event.by === undefined ? "" : ` by ${event.by}`}`;
    default:
      return eventLine(event, undefined);
  }
}

function show(out: Output, event: AttachedEvent, options: AttachCommandOptions): void {
  if (event.type === "text-delta") out.stream(event.delta);
  if (event.type === "step-end") out.endLine();
  if (event.type === "ticket-open") printTickets(out, [event.ticket], options);
  const line = lineOf(event);
  if (line !== undefined) out.note(`· ${line}`);
}

/** What is on record of a thread or a run, then what happens in whatever process: a run to its end, a thread until Ctrl-C. */
export async function attach(shell: Shell, id: string, options: AttachCommandOptions): Promise<number> {
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const found = await findRecord(records.store, id);
  const { createRuntime } = await import("../../create-runtime.ts");
  await using runtime = createRuntime({ agents: {}, store: records.store });
  const whole = found.type === "thread" ? found.thread.id : found.run.runId;
  return await lookOn(shell, options, (how) => runtime.attach(whole, how));
}

/** Shows what there is to follow until it is over, or until Ctrl-C. */
export async function lookOn(
  shell: Shell,
  options: AttachCommandOptions,
  open: (how: { readonly signal: AbortSignal; readonly after?: string }) => AsyncIterable<AttachedEvent>,
): Promise<number> {
  const out = new Output(shell);
  const interrupts = catchInterrupts(() => {});
  const { signal } = interrupts;
  try {
    let isFailed = false;
    for await (const event of open({ signal, ...(options.after === undefined ? {} : { after: options.after }) })) {
      if (options.json === true) out.json(event);
      else show(out, event, options);
      isFailed = event.type === "run-end" && event.result.status !== "done";
    }
    out.endLine();
    if (signal.aborted) return interrupts.exitCode;
    return isFailed ? EXIT.failed : EXIT.ok;
  } finally {
    interrupts[Symbol.dispose]();
  }
}
