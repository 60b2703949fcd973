// A lead asks a lawyer who works elsewhere, over A2A. Here elsewhere is a server on this machine, behind the request handler of the official
// SDK: nothing of it is ours. The lead's model is scripted, so this runs without a key.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentCard, type Message, Role, TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, type ExecutionEventBus, InMemoryTaskStore, type RequestContext } from "@a2a-js/sdk/server";
import { restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { messageText } from "@awaken/contract";
import { createRuntime } from "awaken";
import { a2a } from "awaken/a2a";
import { type ScriptStep, scripted, text, toolCall } from "awaken/testing";
import express from "express";

/** What the lawyer says, as the protocol has it. */
const saying = (words: string, taskId: string, contextId: string): Message => ({
  ...{ messageId: crypto.randomUUID(), role: Role.ROLE_AGENT, taskId, contextId },
  parts: [{ content: { $case: "text", value: words }, mediaType: "text/plain", filename: "", metadata: undefined }],
  ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
});

/** A lawyer who says that he works on it, and then what he thinks. */
const lawyer = {
  async execute({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) {
    const status = (state: TaskState, words: string) => ({
      state,
      message: saying(words, taskId, contextId),
      timestamp: new Date().toISOString(),
    });
    const asked = userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join(" ");
    bus.publish(
      AgentEvent.task({
        ...{ id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined },
        status: status(TaskState.TASK_STATE_WORKING, "I read the contract."),
      }),
    );
    const answer = status(TaskState.TASK_STATE_COMPLETED, `"${asked}" Yes, if both sign.`);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: answer, metadata: undefined }));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const server = createServer(app);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const card: AgentCard = {
  ...{ name: "Legal", description: "Knows contract law", version: "1", provider: undefined },
  supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "" }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  ...{ securitySchemes: {}, securityRequirements: [], defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] },
  ...{ skills: [], signatures: [] },
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), lawyer);
app.use(restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));

const lead: ScriptStep = ({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool" ? text(`Legal says: ${messageText(last)}`) : toolCall("agent_run_legal", { prompt: "May we sign this?" });
};

const runtime = createRuntime({
  providers: { scripted: scripted([lead, lead]) },
  models: { smart: { provider: "scripted", model: "scripted-1" } },
  agents: {
    lead: { model: "smart", instructions: "Ask legal, then answer.", delegates: ["legal"] },
    legal: { description: "Knows contract law", remote: { a2a: url } },
  },
  backends: [a2a({ allow: ["loopback"] })], // without it only public addresses are asked
});

const run = runtime.stream({ agent: "lead", input: "Can we go ahead?" });
for await (const event of run) {
  if (event.type === "child-start") console.log(`${event.agentPath.join(" > ")} is asked`);
  if (event.type === "child-end") console.log(`${event.agentPath.join(" > ")}: ${event.outcome.status}`);
}
console.log((await run.result).text);
await runtime.close();
server.closeAllConnections();
server.close();
