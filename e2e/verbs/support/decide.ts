import { openTicketsOf } from "@awaken/contract";
import type { DecisionInput } from "@awaken/runtime";
import type { Node } from "./fleet.ts";
import type { People } from "./people.ts";
import { TOOLS } from "./plans.ts";
import type { Scheduler } from "./scheduler.ts";

function decisionOn({ numbers }: Scheduler, toolName: string | undefined): DecisionInput {
  const roll = numbers.below(10);
  if (toolName === TOOLS.page) return roll < 8 ? { action: "answer", result: "shown" } : { action: "deny" };
  if (roll < 6) return { action: "approve" };
  return roll < 9 ? { action: "deny", reason: "no" } : { action: "answer", result: "so be it" };
}

/** Decides something that waits, or all that waits with it, in one process or in two. */
export async function decideSome({ scheduler, fleet, journal, store }: People): Promise<void> {
  const { numbers } = scheduler;
  const { items } = await store.runs.list({ statuses: ["waiting", "running"], limit: 200 });
  const open = items.flatMap((run) => openTicketsOf(run).map((ticket) => ({ run, ticket })));
  const chosen = open[numbers.below(Math.max(1, open.length))];
  if (chosen === undefined) return;
  const { runId, threadId: thread } = chosen.run;
  const beside = open.filter(({ run }) => run.runId === runId);
  const decisions = (numbers.below(3) === 0 ? beside : [chosen]).map(({ ticket }, nth) => ({
    ticket: ticket.id,
    call: String(ticket.toolCallId),
    decision: { ...decisionOn(scheduler, ticket.toolName), id: `d${journal.entries.length}-${scheduler.count}-${nth}` },
  }));
  const decide = async (node: Node): Promise<void> => {
    const stream = await node.runtime.decideAll(decisions.map(({ ticket, decision }) => ({ ticket, decision })));
    await journal.askAside({ op: "follow", thread, run: runId }, node, () => stream.result);
  };
  const ask = (node: Node) => {
    const asked = decide(node);
    return decisions.map(({ ticket, call, decision }) =>
      journal.ask({ op: "decide", thread, run: runId, ticket, call, decision: decision.id }, node, () => asked),
    );
  };
  const node = fleet.any();
  await Promise.all([...ask(node), ...(numbers.below(6) === 0 ? ask(fleet.any()) : [])]);
}
