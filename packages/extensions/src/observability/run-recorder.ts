import { type AgentEvent, type JsonValue, NO_USAGE, type ToolResult, type Turn } from "@awaken/contract";
import type { AroundFacts, BeginWork, Clock } from "@awaken/runtime";
import type { Capture } from "./capture.ts";
import type { HandoffEvent, InferenceEvent, RunEvent, SuspensionEvent, TelemetryContext, TelemetryEvent, ToolEvent } from "./events.ts";
import { servedModel } from "./model-facts.ts";
import { answerFacts, askedFor, askedMessages, type SaidOfCall, toolFacts } from "./run-facts.ts";
import { RunTally } from "./run-tally.ts";
import type { Beginning, Following, RunFollower, RunOpening, Sink, Sinks } from "./sink.ts";

/** Something that a recorder waits for. */
interface Open {
  readonly followings: readonly { readonly sink: Sink; readonly following: Following }[];
  readonly startedAt: number;
}

interface OpenTool extends Open {
  readonly facts: AroundFacts["tool"];
}

interface OpenInference extends Open {
  readonly facts: AroundFacts["inference"];
  /** The prompt, where it is told. */
  readonly asked: JsonValue | undefined;
  retries: number;
}

export interface RecorderInit {
  readonly sinks: Sinks;
  readonly capture: Capture;
  readonly clock: Clock;
  readonly opening: RunOpening;
  /** Since when the run waited, when it did. */
  readonly waitingSince: number | undefined;
  /** Of the skills that are active now: the same list as long as they are the same. */
  skillIds(): readonly string[];
}

type Times = Pick<RunEvent, "startedAt" | "endedAt" | "durationMs">;

type Listened<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** One run, from where it began or was resumed to where it ends, waits or hands over. Nothing is shared with other runs. */
export class RunRecorder {
  readonly #init: RecorderInit;
  readonly #tally = new RunTally();
  /** Another one when other skills are active. */
  #context: TelemetryContext;
  readonly #followers: { readonly sink: Sink; readonly follower: RunFollower }[] = [];
  readonly #plain: Sink[] = [];
  readonly #tools = new Map<string, OpenTool>();
  /** Calls that ran and whose result was not told, with what they had waited for. */
  readonly #ran = new Map<string, string | undefined>();
  readonly #waits = new Map<string, number>();
  readonly #decided = new Set<string>();
  readonly #children = new Map<string, number>();
  #inference: OpenInference | undefined;
  #step = 0;
  #isOver = false;

  constructor(init: RecorderInit) {
    this.#init = init;
    this.#context = init.opening.context;
    for (const sink of init.sinks.all) {
      const follower = sink.follow === undefined ? undefined : init.sinks.guard(sink, () => sink.follow?.(init.opening));
      if (follower !== undefined) this.#followers.push({ sink, follower });
      else if (sink.follow === undefined) this.#plain.push(sink);
    }
  }

  /** The span of the run and what it is part of, where some sink makes spans. */
  get span(): { readonly last: string; readonly root: string } | undefined {
    for (const { follower } of this.#followers) {
      if (follower.span !== undefined) return { last: follower.span, root: follower.root ?? follower.span };
    }
    return undefined;
  }

  handedOver(fromAgentId: string): void {
    const { agentId: toAgentId } = this.#context;
    this.#tell({ type: "handoff", context: this.#context, at: this.#now(), fromAgentId, toAgentId } satisfies HandoffEvent);
  }

  inference(facts: AroundFacts["inference"], begin: BeginWork<"inference">): void {
    if (!this.#isHeard) return;
    if (this.#inference !== undefined) this.#endInference(this.#inference, { errorType: "inference_retry_interrupted" });
    const skillIds = this.#init.skillIds();
    if (skillIds !== this.#context.skillIds) this.#context = Object.freeze({ ...this.#context, skillIds });
    const { step, request } = facts;
    this.#step = step;
    const { provider, model } = servedModel(facts);
    const beginning: Beginning = { type: "inference", context: this.#context, step, provider, model, ...askedFor(request) };
    const asked = step === 1 ? askedMessages(this.#init.capture, request) : undefined;
    const open: OpenInference = { ...this.#open(beginning), facts, asked, retries: 0 };
    this.#inference = open;
    const fail = () => this.#endInference(open, { errorType: "internal" });
    this.#inside(open, begin).then((turn) => this.#endInference(open, { turn }), fail);
  }

  tool(facts: AroundFacts["tool"], begin: BeginWork<"tool">): void {
    if (!this.#isHeard) return;
    const { step, call, isReplay, resume } = facts;
    const beginning: Beginning = { type: "tool", context: this.#context, step, name: call.name, callId: call.id, isReplay };
    const open: OpenTool = { ...this.#open(beginning), facts };
    this.#tools.set(call.id, open);
    this.#ran.set(call.id, resume?.suspension.action);
    const fail = () => this.#endTool(open, undefined);
    const traceParent = open.followings.find(({ following }) => following.traceParent !== undefined)?.following.traceParent;
    this.#inside(open, () => begin({ traceParent })).then((result) => this.#endTool(open, result), fail);
  }

  readonly listen = (event: AgentEvent): void => {
    if (!this.#isHeard) return;
    switch (event.type) {
      case "step-start":
        this.#step = event.step;
        return;
      case "inference-retry":
        this.#retried(event);
        return;
      case "tool-call-end":
        if (!this.#ran.delete(event.toolCallId) && event.result.type !== "pending") this.#skip(event, event.result);
        return;
      case "tool-call-resumed":
        this.#resumed(event);
        return;
      case "ticket-open":
        this.#waiting(event);
        return;
      case "decision-taken":
        this.#decided.add(event.ticketId);
        this.#goOn(event, event.ticketId, event.action === "deny");
        return;
      case "child-start":
        this.#children.set(event.runId, this.#now());
        return;
      case "child-end":
        this.#childEnded(event);
        return;
      case "run-end": {
        const { result } = event;
        this.end(result.status, result.status === "failed" ? result.error.code : undefined);
        return;
      }
      default:
    }
  };

  /** What is open is closed. Does nothing the second time. */
  end(outcome: RunEvent["outcome"], errorType?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#inference !== undefined) this.#endInference(this.#inference, { errorType: "cancelled" });
    for (const open of this.#tools.values()) this.#endTool(open, undefined);
    const event: RunEvent = {
      type: "run",
      context: this.#context,
      outcome,
      ...(errorType === undefined ? undefined : { errorType }),
      ...this.#tally.facts,
      ...this.#times(this.#init.opening.at),
    };
    for (const { sink, follower } of this.#followers) this.#init.sinks.tell(sink, () => follower.end(event));
    this.#record(event);
  }

  /** Without anybody who wants to know, nothing is put together. */
  get #isHeard(): boolean {
    return this.#followers.length + this.#plain.length > 0;
  }

  #now(): number {
    return this.#init.clock.now();
  }

  #times(startedAt: number, endedAt = this.#now()): Times {
    return { startedAt, endedAt, durationMs: Math.max(0, endedAt - startedAt) };
  }

  #open(beginning: Beginning): Open {
    const { sinks } = this.#init;
    const followings = this.#followers.flatMap(({ sink, follower }) => {
      const following = sinks.guard(sink, () => follower.begin(beginning));
      return following === undefined ? [] : [{ sink, following }];
    });
    return { followings, startedAt: this.#now() };
  }

  /** The work begins in any case: whoever cannot be inside of is left out. */
  #inside<R>({ followings }: Open, begin: () => Promise<R>): Promise<R> {
    let go = begin;
    for (const { sink, following } of followings) {
      const inner = go;
      go = () => this.#init.sinks.guard(sink, () => following.inside(inner)) ?? inner();
    }
    return go();
  }

  #record(event: TelemetryEvent): void {
    for (const sink of this.#plain) this.#init.sinks.tell(sink, () => sink.record(event));
  }

  #tell(event: Parameters<RunFollower["record"]>[0]): void {
    for (const { sink, follower } of this.#followers) this.#init.sinks.tell(sink, () => follower.record(event));
    this.#record(event);
  }

  #close({ followings }: Open, event: InferenceEvent | ToolEvent): void {
    for (const { sink, following } of followings) this.#init.sinks.tell(sink, () => following.end(event));
    this.#record(event);
  }

  #endInference(
    open: OpenInference,
    end: { readonly turn: Turn } | { readonly errorType: NonNullable<InferenceEvent["errorType"]> },
  ): void {
    if (this.#inference !== open) return;
    this.#inference = undefined;
    const { facts, retries, startedAt } = open;
    const turn = "turn" in end ? end.turn : undefined;
    const { provider, model, costUsd } = servedModel(facts, turn);
    const usage = turn?.usage ?? NO_USAGE;
    this.#tally.addInference(usage, costUsd);
    this.#close(open, {
      ...{ type: "inference", context: this.#context, step: facts.step, provider, model, usage, retries },
      ...(turn === undefined
        ? { errorType: "errorType" in end ? end.errorType : "internal" }
        : answerFacts(this.#init.capture, turn, open.asked)),
      ...(costUsd === undefined ? undefined : { costUsd }),
      ...askedFor(facts.request),
      ...this.#times(startedAt),
    });
  }

  #endTool(open: OpenTool, result: ToolResult | undefined): void {
    const { call, step } = open.facts;
    if (this.#tools.get(call.id) !== open) return;
    this.#tools.delete(call.id);
    this.#close(open, this.#toolEvent(call.name, call.id, step, this.#times(open.startedAt), { input: call.input, result }));
  }

  /** A call that has its result and never ran. */
  #skip({ toolName, toolCallId }: Pick<Listened<"tool-call-end">, "toolName" | "toolCallId">, result: ToolResult): void {
    const now = this.#now();
    const told = this.#toolEvent(toolName, toolCallId, this.#step, this.#times(now, now), { input: undefined, result });
    const event: ToolEvent = told.errorClass === "not_found" ? { ...told, isUnknown: true } : told;
    for (const { sink, follower } of this.#followers) this.#init.sinks.tell(sink, () => follower.skip(event));
    this.#record(event);
  }

  #toolEvent(name: string, callId: string, step: number, times: Times, said: SaidOfCall): ToolEvent {
    const facts = toolFacts(this.#init.capture, name, said);
    this.#tally.addTool(facts.errorType !== undefined);
    return { ...{ type: "tool", context: this.#context, step, name, callId }, ...facts, ...times };
  }

  #retried({ attempt, delayMs }: Listened<"inference-retry">): void {
    const open = this.#inference;
    if (open === undefined) return;
    open.retries += 1;
    for (const { sink, following } of open.followings) this.#init.sinks.tell(sink, () => following.retry?.(attempt, delayMs));
  }

  #resumed(event: Listened<"tool-call-resumed">): void {
    const { ticketId, outcome, toolCallId } = event;
    const isOfChild = this.#ran.get(toolCallId) === "child-run";
    if (ticketId !== undefined && !this.#decided.delete(ticketId) && !isOfChild) this.#goOn(event, ticketId, outcome === "denied");
    if (this.#ran.delete(toolCallId)) return;
    const denied = { type: "error", code: outcome === "denied" ? "denied" : "execution_failed", message: "" } as const;
    this.#skip(event, outcome === "succeeded" ? { type: "success", data: event.result } : denied);
  }

  /** Tickets of children are told by their own runs. */
  #waiting({ ticket }: Listened<"ticket-open">): void {
    if (ticket.runId !== this.#context.runId) return;
    const { toolCallId, toolName, id } = ticket;
    const at = this.#now();
    this.#waits.set(id, at);
    this.#tell({ type: "suspension", context: this.#context, at, toolCallId, toolName, action: "suspended" } satisfies SuspensionEvent);
  }

  #goOn({ toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string }, ticketId: string, isDenied: boolean): void {
    const at = this.#now();
    const since = this.#waits.get(ticketId) ?? this.#init.waitingSince;
    this.#tell({
      ...{ type: "suspension", context: this.#context, at, toolCallId, toolName, action: "resumed" },
      resumeMode: isDenied ? "cancel" : "resume",
      ...(since === undefined ? undefined : { durationMs: Math.max(0, at - since) }),
    });
  }

  #childEnded({ runId, agentId, toolCallId, outcome }: Listened<"child-end">): void {
    const at = this.#now();
    const since = this.#children.get(runId);
    const success = outcome.status === "done" || outcome.status === "waiting";
    this.#tell({
      ...{ type: "delegation", context: this.#context, at, childRunId: runId, targetAgentId: agentId, success },
      ...(toolCallId === undefined ? undefined : { toolCallId }),
      ...(success ? undefined : { errorType: outcome.status === "failed" ? outcome.error.code : outcome.status }),
      ...(since === undefined ? undefined : { durationMs: Math.max(0, at - since) }),
    });
  }
}
