import type { RunResult as RemoteResult } from "@awaken/client";
import type { AgentEvent } from "@awaken/contract";
import type { RunRequest, RunResult } from "@awaken/runtime";
import { eventLine } from "./event-line.ts";
import { EXIT } from "./exit-codes.ts";
import { explainFailure } from "./explain-error.ts";
import { catchInterrupts, type Interrupts } from "./interrupts.ts";
import { counted, Output } from "./output.ts";
import type { Project } from "./project.ts";
import type { ProjectOptions, Shell } from "./shell.ts";
import { printTickets } from "./ticket-lines.ts";

export interface FollowOptions extends ProjectOptions {
  readonly json?: boolean;
  /** The call whose result a person gives: its tool does not run. */
  readonly answeredCall?: string;
}

/** As a runtime tells it, or a server. */
type Ended = RunResult | RemoteResult;

/** Shows a run to somebody. */
interface Face {
  event(event: AgentEvent): void;
  end(result: Ended): void;
}

function failureOf(result: Ended): ReturnType<typeof explainFailure> | undefined {
  switch (result.status) {
    case "failed":
      return explainFailure(result.error.message);
    case "blocked":
      return { message: `the run was blocked: ${result.reason}`, fix: undefined };
    case "stopped":
      return { message: `the run was stopped: ${result.detail}`, fix: undefined };
    case "cancelled":
      return { message: "the run was cancelled", fix: undefined };
    case "done":
    case "waiting":
      return undefined;
    default:
      return result satisfies never;
  }
}

function printFailure(out: Output, result: Ended): void {
  const failure = failureOf(result);
  if (failure === undefined) return;
  out.note(`error: ${failure.message}`, "red");
  if (failure.fix !== undefined) out.note(`fix: ${failure.fix}`, "reset");
}

function textFace(out: Output, options: FollowOptions, hasOutput: boolean): Face {
  return {
    event(event) {
      if (event.type === "text-delta" && !hasOutput) out.stream(event.delta);
      const line = eventLine(event, options.answeredCall);
      if (line !== undefined) out.note(`· ${line}`);
    },
    end(result) {
      out.endLine();
      if (hasOutput && "output" in result && result.output !== undefined) out.line(JSON.stringify(result.output, null, 2));
      else if (hasOutput && result.text !== "") out.line(result.text);
      if (result.status === "waiting") printTickets(out, result.tickets, options);
      printFailure(out, result);
      out.note(
        `thread ${result.threadId}, run ${result.runId}: ${counted(result.steps, "step")}, ${counted(result.usage.totalTokens, "token")}`,
      );
    },
  };
}

function jsonFace(out: Output): Face {
  return {
    event: (event) => out.json(event),
    end(result) {
      out.json({ type: "result", ...result });
      printFailure(out, result);
    },
  };
}

function exitCodeOf({ status }: Ended, { signal, exitCode }: Interrupts): number {
  if (signal.aborted && status === "cancelled") return exitCode;
  if (status === "waiting") return EXIT.waiting;
  return status === "done" ? EXIT.ok : EXIT.failed;
}

/** A run that was begun, wherever it is executed. */
export interface BegunRun extends AsyncIterable<AgentEvent> {
  readonly result: PromiseLike<Ended>;
}

export interface Following {
  readonly options: FollowOptions;
  readonly hasOutput: boolean;
  /** Begins it; the signal says that a person wants it to be cancelled. */
  readonly begin: (signal: AbortSignal) => BegunRun | Promise<BegunRun>;
  /** What there is to say to whoever is told that it waits. */
  readonly onWaiting?: (out: Output) => void;
}

/** Begins what is asked for and shows it until it ends or waits. The first Ctrl-C (or SIGTERM) cancels the run, the second one leaves. */
export async function showRun(shell: Shell, { options, hasOutput, begin, onWaiting }: Following): Promise<number> {
  const out = new Output(shell);
  const isJson = options.json === true;
  const face = isJson ? jsonFace(out) : textFace(out, options, hasOutput);
  const interrupts = catchInterrupts(() => out.note("· cancelling; once more leaves at once"));
  try {
    const run = await begin(interrupts.signal);
    for await (const event of run) face.event(event);
    const result = await run.result;
    face.end(result);
    if (!isJson && result.status === "waiting") onWaiting?.(out);
    return exitCodeOf(result, interrupts);
  } finally {
    interrupts[Symbol.dispose]();
  }
}

/** The same with the runtime of a project. */
export function followRun(shell: Shell, { runtime, storeLabel }: Project, request: RunRequest, options: FollowOptions): Promise<number> {
  return showRun(shell, {
    options,
    hasOutput: request.output !== undefined,
    begin: (signal) => runtime.stream({ ...request, signal }),
    onWaiting(out) {
      if (storeLabel === "memory") out.note("the store is in memory: what waits is lost when this command ends", "yellow");
    },
  });
}
