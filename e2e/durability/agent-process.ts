import { flushCompileCache } from "node:module";
import { AwakenError, type RunId, threadId } from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import { createRuntime, type RunTicket, type TicketDecision } from "@awaken/runtime";
import { ticketsOf } from "@awaken/runtime/testing";
import { AGENT, inputId, inputText, isTalkative, isUnsure, runOf, runtimeInit } from "./support/agent.ts";
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
  readonly run: string;
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

/** A thread, and where it stands in its batch. */
interface Seat {
  readonly thread: string;
  readonly index: number;
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
async function decide({ thread, index }: Seat, run: RunId, tickets: readonly RunTicket[]): Promise<void> {
  const asked = tickets.map(({ id, action, toolName, input }) => ({ id, action, toolName, order: String(input["order"]) }));
  const { decisions } = await ask({ thread, run, tickets: asked });
  if (index % 2 === 0) await runtime.decideAll(decisions);
  else for (const { ticket, decision } of decisions) await runtime.decide(ticket, decision);
  await runtime.wait(run);
}

/** Every second run that was cut is taken up with its events, the others by the plain verb. */
async function goOn({ thread, index }: Seat, run: RunId): Promise<void> {
  if (index % 2 === 0) await runtime.resume(run);
  else await listen({ thread, resume: run });
}

const say = ({ thread }: Seat, nth: number, hint: { readonly runId?: string }): Promise<void> =>
  listen({ agent: AGENT, thread, ...hint, input: [{ role: "user", id: inputId(thread, nth), content: inputText(thread) }] });

/** How many messages a thread has heard: the next one gets this number. */
const heard = ({ messages }: ThreadHead): number => messages.filter(({ message }) => message.role === "user").length;

/** Far more than kills and unknown outcomes can ask for. */
const MAX_MESSAGES = 20;

/** A new message ends what was under way, in a run of its own, or, while a call waits, in half of the threads in the same run. */
async function sayMore(seat: Seat, checkpoint: ThreadHead, mayContinue = false): Promise<void> {
  const nth = heard(checkpoint);
  if (nth > MAX_MESSAGES) throw new Error(`thread ${seat.thread} comes to no end`);
  await say(seat, nth, mayContinue && seat.index % 2 === 0 ? {} : { runId: runOf(seat.thread, nth) });
}

/** Somebody who can look at the outside says what became of calls that were left with an unknown outcome. */
async function putOnRecord({ thread }: Seat): Promise<void> {
  const { items } = await store.runs.list({ threadId: threadId(thread), limit: 100 });
  for (const run of items) {
    for (const { idempotencyKey } of await store.ledger.list(run.runId, { statuses: ["claimed", "suspended"] })) {
      const found = outside.underKey(idempotencyKey);
      const data = { order: found?.order ?? "", receipt: found?.receipt ?? "" };
      await runtime.reconcile(idempotencyKey, found === undefined ? { type: "not-done" } : { type: "done", data });
    }
  }
}

/** Half of the talkative ones leave a run that was cut at once; the others when they have heard one message more. */
const isLeft = ({ index }: Seat, checkpoint: ThreadHead): boolean => isTalkative(index) && (heard(checkpoint) + index) % 2 === 0;

async function finish(thread: string, index: number): Promise<void> {
  const seat: Seat = { thread, index };
  for (;;) {
    const checkpoint = await store.threads.loadHead(threadId(thread));
    const run = checkpoint?.openRun ?? checkpoint?.latestRun;
    if (checkpoint === undefined || run === undefined) {
      await say(seat, 0, { runId: runOf(thread) });
      continue;
    }
    cut.add(thread);
    switch (run.status) {
      case "created":
        await say(seat, heard(checkpoint) - 1, { runId: run.runId });
        break;
      case "running":
        if (isLeft(seat, checkpoint)) await sayMore(seat, checkpoint);
        else await goOn(seat, run.runId);
        break;
      case "waiting": {
        const tickets = ticketsOf(await runtime.wait(run.runId));
        const isAsked = tickets.some(({ action }) => action === "unknown-outcome");
        if (isTalkative(index) && isAsked) await sayMore(seat, checkpoint, true);
        else await decide(seat, run.runId, tickets);
        break;
      }
      case "done":
        if (!isTalkative(index) || (run.outcome.termination.type === "natural-end" && !isUnsure(run.outcome.response))) {
          cut.delete(thread);
          return;
        }
        await putOnRecord(seat);
        await sayMore(seat, checkpoint);
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
