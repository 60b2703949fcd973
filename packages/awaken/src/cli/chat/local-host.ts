import { type AgentEvent, type RunId, runId, runIdentity, threadId, ticketId } from "@awaken/contract";
import { eventCursor } from "@awaken/contract/store";
import { onAbort, type RunRequest, type TicketDecision, ticketsBelow } from "@awaken/runtime";
import { loadEdited } from "../executed-inputs.ts";
import type { Project } from "../project.ts";
import { shortThread, threadToUse } from "../short-id.ts";
import type { ChatHost, EventPage, TalkRequest, ThreadHistory, ThreadStanding } from "./chat-host.ts";
import { lastMessages, stateText, threadIds, threadsText, usedTokens } from "./records.ts";
import { actingAgent, restState } from "./talk-state.ts";
import { isElsewhere } from "./thread-follower.ts";

const PAGE = 200;

function toRequest(request: TalkRequest): Pick<RunRequest, "agent" | "input" | "resume" | "decisions"> {
  switch (request.type) {
    case "say":
      return { agent: request.agent, input: request.input };
    case "decide":
      return { resume: request.run.runId, decisions: request.decisions };
    case "resume":
      return { resume: request.run.runId };
  }
}

async function standing(project: Project, thread: string): Promise<ThreadStanding> {
  const head = await project.store.threads.loadHead(threadId(thread));
  const { openRun } = head ?? {};
  const tickets = openRun === undefined ? [] : await ticketsBelow(project.store, runIdentity(openRun));
  return {
    agent: actingAgent(head, project.agents),
    rest: restState(openRun, tickets),
    tickets,
    elsewhere: (await isElsewhere(project, openRun)) ? openRun?.runId : undefined,
  };
}

async function history(project: Project, thread: string, limit: number): Promise<ThreadHistory> {
  const { store } = project;
  const head = await store.threads.loadHead(threadId(thread));
  const live = (await isElsewhere(project, head?.openRun)) ? head?.openRun : undefined;
  const { items, isWhole } = await lastMessages(store, thread, limit);
  const rows =
    live === undefined
      ? items
      : items.filter(({ message }) => message.metadata?.runId !== live.runId && !live.input.triggerMessageIds.includes(message.id));
  return { rows, isWhole, edited: await loadEdited(store, rows), tokens: await usedTokens(store, thread) };
}

async function events({ store }: Project, thread: string, after: string | undefined): Promise<EventPage> {
  const scope = { type: "thread", threadId: threadId(thread) } as const;
  const place = after === undefined ? {} : { after: eventCursor(after) };
  const { items, next } = await store.events.list(scope, { limit: PAGE, ...place });
  return {
    items: items.map(({ kind, createdAt, payload, runId: run, cursors }) => ({
      kind,
      createdAt,
      payload,
      runId: run,
      cursor: cursors.thread,
    })),
    next,
  };
}

/** By the run that asks: decisions that are made together are about one. */
async function byRun({ store }: Project, root: RunId, decisions: readonly TicketDecision[]): Promise<ReadonlyMap<RunId, TicketDecision[]>> {
  const run = await store.runs.load(root);
  const owners = new Map((run === undefined ? [] : await ticketsBelow(store, runIdentity(run))).map((ticket) => [ticket.id, ticket.runId]));
  const groups = new Map<RunId, TicketDecision[]>();
  for (const decision of decisions) {
    const owner = owners.get(ticketId(decision.ticket)) ?? root;
    groups.set(owner, [...(groups.get(owner) ?? []), decision]);
  }
  return groups;
}

/** What is decided for runs below the one that is talked to. An agent in the background is heard by following it; its end wakes the run. */
async function* decideBelow({ runtime }: Project, root: RunId, groups: Iterable<readonly TicketDecision[]>): AsyncIterable<AgentEvent> {
  for (const decisions of groups) {
    const decided = await runtime.decideAll(decisions);
    for await (const event of decided) {
      if (decided.id === root || event.type === "ticket-open" || event.type === "decision-taken") yield event;
    }
    await decided.result;
  }
}

/** The agents of a project, which run in this process. */
export function localHost(project: Project): ChatHost {
  const { runtime, store, agents, outputs } = project;
  const run = (thread: string, request: TalkRequest, signal: AbortSignal): AsyncIterable<AgentEvent> => {
    const schema = outputs.get(request.type === "say" ? request.agent : request.run.agentId);
    const own = () => runtime.stream({ ...toRequest(request), thread, signal, ...(schema === undefined ? {} : { output: schema }) });
    return request.type === "decide" ? decide(runId(request.run.runId), request.decisions, own, signal) : own();
  };
  async function* decide(
    root: RunId,
    decisions: readonly TicketDecision[],
    own: () => AsyncIterable<AgentEvent>,
    signal: AbortSignal,
  ): AsyncIterable<AgentEvent> {
    const groups = await byRun(project, root, decisions);
    if (groups.size === 1 && groups.has(root)) return yield* own();
    const off = onAbort(signal, () => void runtime.cancel(root));
    try {
      yield* decideBelow(project, root, groups.values());
    } finally {
      off();
    }
  }
  return {
    root: project.root,
    historyKey: project.root,
    isLasting: project.storeLabel !== "memory",
    agents,
    resumesItself: false,
    hasOutput: (agent) => outputs.has(agent),
    modelOf(agent) {
      try {
        const { provider, model } = runtime.resolver.open().resolve(agent);
        return `${provider.name}/${model.upstream}`;
      } catch {
        // It cannot be resolved any more.
        return "";
      }
    },
    standing: (thread) => standing(project, thread),
    history: (thread, limit) => history(project, thread, limit),
    run,
    send: async (thread, text) => (await runtime.send(thread, text)).status === "steered",
    async decide(decisions) {
      const decided = await runtime.decideAll(decisions);
      return { events: decided, cancel: () => void runtime.cancel(runId(decided.id)) };
    },
    attach: (thread, options) => runtime.attach(thread, options),
    events: (thread, after) => events(project, thread, after),
    findThread: (id) => shortThread(store, id),
    threadToUse: (id) => threadToUse(store, id),
    threadIds: (limit) => threadIds(store, limit),
    threadsText: (current) => threadsText(store, current),
    stateText: (thread, agent) => stateText(store, thread, agent),
  };
}
