import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type AgentCard, type Artifact, type Message, type Part, Role, type Task, TaskState, type TaskStatus } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, type ExecutionEventBus, InMemoryTaskStore, type RequestContext } from "@a2a-js/sdk/server";
import { agentCardHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

export const textPart = (value: string): Part => ({
  content: { $case: "text", value },
  mediaType: "text/plain",
  filename: "",
  metadata: undefined,
});

export const filePart = (bytes: string, mediaType: string, filename: string): Part => ({
  content: { $case: "raw", value: Buffer.from(bytes) },
  mediaType,
  filename,
  metadata: undefined,
});

let ids = 0;
const nextId = (): string => `id-${++ids}`;

const messageOf = (text: string, taskId: string, contextId: string): Message => ({
  ...{ messageId: nextId(), role: Role.ROLE_AGENT, parts: [textPart(text)], taskId, contextId },
  ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
});

/** One message to the agent, and what it may do about it. */
export class Turn {
  readonly #context: RequestContext;
  readonly #bus: ExecutionEventBus;

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context;
    this.#bus = bus;
  }

  get text(): string {
    return this.#context.userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("|");
  }

  get message(): Message {
    return this.#context.userMessage;
  }

  get taskId(): string {
    return this.#context.taskId;
  }

  /** The task as it was before this message; undefined for the first one. */
  get task(): Task | undefined {
    return this.#context.task;
  }

  /** The first thing that every agent says: which task this is. */
  accept(): void {
    const { taskId: id, contextId, userMessage, task } = this.#context;
    const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
    this.#bus.publish(AgentEvent.task(task ?? { id, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }));
  }

  status(state: keyof typeof TaskState, text?: string): void {
    const { taskId, contextId } = this.#context;
    const message = text === undefined ? undefined : messageOf(text, taskId, contextId);
    const status: TaskStatus = { state: TaskState[state], message, timestamp: `${new Date().toISOString()}#${nextId()}` };
    this.#bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
  }

  artifact(artifactId: string, parts: Part[], append = false): void {
    const { taskId, contextId } = this.#context;
    const artifact: Artifact = { artifactId, name: artifactId, description: "", parts, metadata: undefined, extensions: [] };
    this.#bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: false, metadata: undefined }));
  }

  /** Answers without a task. */
  say(parts: Part[]): void {
    const { contextId } = this.#context;
    this.#bus.publish(AgentEvent.message({ ...messageOf("", "", contextId), parts }));
  }

  finish(): void {
    this.#bus.finished();
  }
}

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

export interface TestAgent {
  readonly url: string;
  /** Every request, in order. */
  readonly seen: readonly Seen[];
  /** Every message that reached the agent. */
  readonly turns: readonly Turn[];
  /** Tasks that were cancelled. */
  readonly cancelled: readonly string[];
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

interface AgentInit {
  /** What the agent does with a message. */
  readonly act?: (turn: Turn) => Promise<void> | void;
  /** Answers in the place of the protocol's own handler: true when it did. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse, server: Server) => boolean;
  readonly isStreaming?: boolean;
  readonly tenant?: string;
  /** Changes the card. */
  readonly card?: (card: AgentCard) => AgentCard;
}

const cardOf = (url: string, { isStreaming = true, tenant = "" }: AgentInit): AgentCard => ({
  ...{ name: "Legal Desk!", description: " Knows the law. ", version: "1", provider: undefined },
  supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant }],
  capabilities: { streaming: isStreaming, pushNotifications: false, extensions: [], extendedAgentCard: false },
  ...{ securitySchemes: {}, securityRequirements: [], defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] },
  ...{ skills: [], signatures: [] },
});

/** An agent on loopback, behind the request handler of the official SDK. */
export async function startAgent(init: AgentInit = {}): Promise<TestAgent> {
  const seen: Seen[] = [];
  const turns: Turn[] = [];
  const cancelled: string[] = [];
  const sockets = new Set<Socket>();
  const buses = new Map<string, Turn>();
  const app = express();
  const server = createServer((request, response) => {
    seen.push({ method: request.method ?? "", path: request.url ?? "", authorization: request.headers.authorization });
    if (init.instead?.(request, response, server) !== true) app(request, response);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const plain = cardOf(url, init);
  const executor = {
    async execute(context: RequestContext, bus: ExecutionEventBus) {
      const turn = new Turn(context, bus);
      turns.push(turn);
      buses.set(turn.taskId, turn);
      await init.act?.(turn);
      turn.finish();
    },
    async cancelTask(taskId: string) {
      cancelled.push(taskId);
      buses.get(taskId)?.status("TASK_STATE_CANCELED");
    },
  };
  const requestHandler = new DefaultRequestHandler(plain, new InMemoryTaskStore(), executor);
  const agentCardProvider = async () => init.card?.(plain) ?? plain;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider }));
  app.use(restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return {
    url,
    seen,
    turns,
    cancelled,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
