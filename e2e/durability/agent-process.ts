import { flushCompileCache } from "node:module";
import { AwakenError, runId } from "@awaken/contract";
import { createRuntime, type RunTicket, type TicketDecision } from "@awaken/runtime";
import { ticketsOf } from "@awaken/runtime/testing";
import { AGENT, inputId, inputText, runOf, runtimeInit } from "./support/agent.ts";
import { type KillPlan, KillSwitch } from "./support/kill-switch.ts";
import { appendLine, Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// Brings the runs of some threads to their end, from wherever an earlier process left them, or dies on the way.

export interface AgentOrder {
  readonly place: Place;
  readonly threads: readonly string[];
  /** The file of the outside effects. */
  readonly outside: string;
  /** The file of the killed processes. */
  readonly kills: string;
  readonly plan?: KillPlan;
}

/** What a dying process writes down. */
export interface Kill {
  readonly kind: KillPlan["kind"];
  /** Threads whose run was on record and not over. */
  readonly cut: readonly string[];
}

/** Whoever started this process is asked about calls of which nobody knows whether they happened. */
export interface Question {
  readonly thread: string;
  readonly tickets: readonly { readonly id: string; readonly action: string; readonly toolName: string; readonly order: string }[];
}

export interface Answer {
  readonly thread: string;
  readonly decisions: readonly TicketDecision[];
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { place, threads, outside: effects, kills, plan }: AgentOrder = JSON.parse(argument);

const cut = new Set<string>();
const killSwitch = new KillSwitch(plan, (kind) => appendLine(kills, { kind, cut: [...cut] } satisfies Kill));
const store = await openStore(place);
const outside = new Outside(effects);
const runtime = createRuntime({
  ...runtimeInit(outside, { before: () => killSwitch.pass("before-effect"), after: () => killSwitch.pass("after-effect") }),
  store: killSwitch.store(store),
});

flushCompileCache();

const answers = new Map<string, (answer: Answer) => void>();
process.on("message", (answer: Answer) => answers.get(answer.thread)?.(answer));
process.on("disconnect", () => process.exit(1));

function ask(question: Question): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  answers.set(question.thread, resolve);
  process.send?.(question);
  return promise;
}

type Request = Parameters<typeof runtime.stream>[0];

async function listen(request: Request): Promise<void> {
  const run = runtime.stream(request);
  for await (const event of run) {
    if (event.type === "step-start") cut.add(run.threadId);
    killSwitch.heard(event);
  }
  await run.result;
}

/** Every second thread gets its decisions one after the other. */
async function decide(thread: string, index: number, tickets: readonly RunTicket[]): Promise<void> {
  const asked = tickets.map(({ id, action, toolName, input }) => ({ id, action, toolName, order: String(input["order"]) }));
  const { decisions } = await ask({ thread, tickets: asked });
  if (index % 2 === 0) await runtime.decideAll(decisions);
  else for (const { ticket, decision } of decisions) await runtime.decide(ticket, decision);
  await runtime.wait(runOf(thread));
}

/** Every second run that was cut is taken up with its events, the others by the plain verb. */
async function goOn(thread: string, index: number): Promise<void> {
  if (index % 2 === 0) await runtime.resume(runOf(thread));
  else await listen({ thread, resume: runOf(thread) });
}

async function finish(thread: string, index: number): Promise<void> {
  for (;;) {
    const record = await store.runs.load(runId(runOf(thread)));
    if (record !== undefined) cut.add(thread);
    switch (record?.status) {
      case undefined:
      case "created":
        await listen({
          agent: AGENT,
          thread,
          runId: runOf(thread),
          input: [{ role: "user", id: inputId(thread), content: inputText(thread) }],
        });
        break;
      case "running":
        await goOn(thread, index);
        break;
      case "waiting":
        await decide(thread, index, ticketsOf(await runtime.wait(runOf(thread))));
        break;
      case "done":
        cut.delete(thread);
        return;
    }
  }
}

try {
  await Promise.all(threads.map(finish));
  await store.close();
  process.exit(0);
} catch (thrown) {
  console.error(AwakenError.is(thrown) ? `${thrown.code}: ${thrown.stack}` : thrown);
  process.exit(1);
}
