import type { AgentCard } from "@a2a-js/sdk";
import { createRuntime } from "@awaken/runtime";
import { fakeClock, scripted, text, toolCall } from "@awaken/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { textPart } from "./a2a.test-support.ts";
import { Harness, until } from "./harness.test-support.ts";
import { type A2aAgents, a2a, a2aAgents } from "./index.ts";

const harness = new Harness();
afterEach(() => harness.close());

const CARD = "/.well-known/agent-card.json";
const loopback = { allow: ["loopback"] };
const says = (said: string) => ({ act: (turn: { say(parts: ReturnType<typeof textPart>[]): void }) => turn.say([textPart(said)]) });
const silent = { warn() {}, error() {} };
const never = new AbortController().signal;

const discover = (init: A2aAgents) => a2aAgents({ ...loopback, ...init }).discover(never);

/** A card that is not what it should be. */
const lies = (change: (card: AgentCard) => Partial<AgentCard>) => harness.agent({ card: (card) => ({ ...card, ...change(card) }) });
const at = (url: string, more: object = {}) => ({ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "", ...more });

describe("agents that are found by their cards", () => {
  test("multi-agent 69: initialize finds them, composite ids resolve, and one that fails fails it by name while the others still resolve", async () => {
    let isBroken = false;
    const legal = await harness.agent({
      ...says("by law"),
      instead: (request, response) => isBroken && request.url === CARD && response.writeHead(503).end() instanceof Object,
    });
    const tax = await harness.agent({ ...says("by tax law"), tenant: "tax desk" });
    const model = scripted([toolCall("agent_run_law_legal-desk", { prompt: "may I?" }), text("done")]);
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: { lead: { model: "fast", delegates: ["law/legal-desk"] } },
      backends: [a2a(loopback)],
      remoteAgents: [
        a2aAgents({ ...loopback, id: "law", baseUrl: `${legal.url}/any/path` }),
        a2aAgents({ ...loopback, id: "tax", baseUrl: tax.url }),
      ],
      log: silent,
    });
    await runtime.initialize();
    expect(runtime.resolver.agentIds()).toEqual(["lead", "law/legal-desk", "tax/tax-desk"]);
    expect(await runtime.run({ agent: "tax/tax-desk", input: "x" })).toMatchObject({ status: "done", text: "by tax law" });
    expect(tax.seen.map(({ path }) => path)).toEqual([CARD, "/tax%20desk/message:send"]);
    const { version } = runtime.registry;
    isBroken = true;
    await expect(runtime.initialize()).rejects.toMatchObject({
      code: "resolve_failed",
      message: expect.stringMatching(
        /^resolve failed: remote agent discovery failed: law: HTTP request failed for http:.*agent-card.json: .*503/,
      ),
    });
    expect(runtime.registry.version).toBe(version);
    expect(await runtime.run({ agent: "lead", input: "x" })).toMatchObject({ status: "done", text: "done" });
    expect(model.requests[0]?.tools).toMatchObject([{ id: "agent_run_law_legal-desk", description: "Knows the law." }]);
    expect(legal.turns.map((turn) => turn.text)).toEqual(["may I?"]);
    await runtime.close();
  });

  test("registry-and-runtime 55: a source that fails makes initialize fail, and what was found before stays", async () => {
    const legal = await harness.agent(says("by law"));
    const runtime = createRuntime({
      agents: {},
      backends: [a2a(loopback)],
      remoteAgents: [a2aAgents({ ...loopback, id: "law", baseUrl: legal.url })],
    });
    await runtime.initialize();
    await legal.close();
    await expect(runtime.initialize()).rejects.toThrow(
      /^resolve failed: remote agent discovery failed: law: HTTP request failed for .*ECONNREFUSED/,
    );
    expect(runtime.resolver.agentIds()).toEqual(["law/legal-desk"]);
    await runtime.close();
  });

  test("registry-and-runtime 53: a card at a loopback address is refused before anybody is asked", async () => {
    const legal = await harness.agent(says("x"));
    const localhost = legal.url.replace("127.0.0.1", "localhost");
    for (const baseUrl of [legal.url, localhost]) {
      await expect(a2aAgents({ id: "law", baseUrl }).discover(never)).rejects.toThrow(
        /^HTTP request failed for .*127\.0\.0\.1.* is not public/,
      );
    }
    expect(legal.seen).toEqual([]);
    expect(legal.sockets.size).toBe(0);
  });

  test("registry-and-runtime 53: a card over 262144 bytes is refused, and a redirect is not followed", async () => {
    const long = await lies(() => ({ description: "x".repeat(262_144) }));
    await expect(discover({ id: "law", baseUrl: long.url })).rejects.toThrow("sent more than 262144 bytes");
    const fits = await lies(() => ({ description: "x".repeat(261_000) }));
    expect(await discover({ id: "law", baseUrl: fits.url })).toMatchObject([{ description: "x".repeat(1_000) }]);
    const moved = await harness.agent({
      instead: (_, response) => response.writeHead(302, { location: `${fits.url}${CARD}` }).end() instanceof Object,
    });
    const before = fits.seen.length;
    await expect(discover({ id: "law", baseUrl: moved.url })).rejects.toThrow("answers with a redirect, which is not followed");
    expect(fits.seen).toHaveLength(before);
    for (const each of [long, fits, moved]) await until(() => each.sockets.size === 0);
  });

  test("a card has 30 seconds at most, whatever an answer may take", async () => {
    const hangs = await harness.agent({ instead: () => true });
    const clock = fakeClock();
    const found = discover({ id: "law", baseUrl: hangs.url, clock, timeoutMs: 3_600_000 });
    const refused = expect(found).rejects.toThrow(/^HTTP request failed for .*: it took too long/);
    await until(() => hangs.seen.length === 1);
    await clock.advance(30_000);
    await refused;
    expect(clock.pendingTimers).toBe(0);
    await until(() => hangs.sockets.size === 0);
  });
});

describe("a card that lies", () => {
  const auth = { type: "bearer", token: "tok-3f9a77c1" } as const;

  test("about where the agent is gets no token: neither from discovery nor from a run", async () => {
    const other = await harness.agent(says("mine!"));
    const liar = await lies(() => ({ supportedInterfaces: [at(other.url)] }));
    const refused = discover({ id: "law", baseUrl: liar.url, auth });
    await expect(refused).rejects.toThrow(`its interface is at ${other.url}, and the token is for ${liar.url}`);
    await expect(refused).rejects.toThrow(/^(?!.*tok-3f9a77c1)/);
    expect(other.seen).toEqual([]);
    expect(await discover({ id: "law", baseUrl: liar.url })).toMatchObject([{ remote: { baseUrl: other.url } }]);
  });

  test.each([
    ["an address that is not public", [at("http://169.254.169.254/latest")], "the address 169.254.169.254 is not public"],
    ["no address", [at("file:///etc/passwd")], "must use http:// or https://"],
    ["an address with credentials", [at("https://me:pw@agents.example")], "must not contain credentials"],
    ["another binding", [at("https://agents.example", { protocolBinding: "JSONRPC" })], "it offers JSONRPC"],
    ["no interface", [], "it offers none"],
  ])("with %s is refused", async (_, supportedInterfaces, why) => {
    const liar = await lies(() => ({ supportedInterfaces }));
    await expect(discover({ id: "law", baseUrl: liar.url })).rejects.toThrow(
      `remote agent card from ${liar.url}${CARD} does not expose a supported HTTP+JSON v1.0 interface: `,
    );
    await expect(discover({ id: "law", baseUrl: liar.url })).rejects.toThrow(why);
  });

  test.each(["{oops", "null", "[1]", '"card"', '{"supportedInterfaces":[null]}'])("or is no card, %s, is refused", async (body) => {
    const liar = await harness.agent({ instead: (_, response) => response.end(body) instanceof Object });
    await expect(discover({ id: "law", baseUrl: liar.url })).rejects.toThrow(
      /failed to decode agent card from|does not expose a supported/,
    );
  });

  test("about its name is called by what can be read of it; the version that is spoken comes first", async () => {
    const liar = await lies((card) => ({
      name: "  ../Root!  ",
      supportedInterfaces: [
        at("https://agents.example/old", { protocolVersion: "0.3" }),
        at("https://agents.example/new", { protocolBinding: "http+json", tenant: "../../admin" }),
        ...card.supportedInterfaces,
      ],
    }));
    expect(await discover({ id: "law", baseUrl: liar.url, options: { historyLength: 3 } })).toMatchObject([
      {
        id: "admin",
        remote: { baseUrl: "https://agents.example/new", target: "../../admin", options: { a2aServerId: "law", historyLength: 3 } },
      },
    ]);
    const nameless = await lies(() => ({ name: " ?! " }));
    expect(await discover({ id: "law", baseUrl: nameless.url })).toMatchObject([{ id: "agent" }]);
  });

  test("about its stream is asked again and again instead", async () => {
    const gate = Promise.withResolvers<void>();
    const liar = await harness.agent({
      isStreaming: false,
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await gate.promise;
        turn.status("TASK_STATE_COMPLETED", "here");
      },
      card: (card) => ({ ...card, capabilities: { ...card.capabilities, streaming: true, extensions: [] } }),
    });
    const options = { pollIntervalMs: 1 };
    const runtime = createRuntime({
      agents: {},
      backends: [a2a(loopback)],
      remoteAgents: [a2aAgents({ ...loopback, id: "law", baseUrl: liar.url, options })],
    });
    await runtime.initialize();
    const run = runtime.stream({ agent: "law/legal-desk", input: "x" });
    await until(() => liar.seen.length > 4);
    gate.resolve();
    expect(await run.result).toMatchObject({ status: "done", text: "here" });
    await runtime.close();
  });
});

test("what is wrong with an endpoint is said before anybody is asked", () => {
  const factory = a2a(loopback);
  const build = (endpoint: object) => () =>
    factory.build({ type: "a2a", baseUrl: "https://agents.example", timeoutMs: 1, options: {}, ...endpoint });
  expect(build({})).not.toThrow();
  expect(build({ type: "acp" })).toThrow("remote endpoint backend must be `a2a`, got `acp`");
  expect(build({ options: { pollIntervalMs: 0 } })).toThrow("A2A option `pollIntervalMs` must be an unsigned integer of at least 1");
  expect(build({ options: { historyLength: -1 } })).toThrow("A2A option `historyLength` must be an unsigned integer");
  expect(build({ options: { returnImmediately: "yes" } })).toThrow("A2A option `returnImmediately` must be a boolean");
  expect(build({ options: { polling: 1 } })).toThrow("unknown A2A option `polling`");
  expect(build({ baseUrl: "http://10.0.0.1" })).toThrow("the address 10.0.0.1 is not public");
  expect(() => a2a({ allow: ["intranet"] })).toThrow("intranet");
  expect(() => a2aAgents({ id: "law", baseUrl: "https://x.example?y" })).toThrow("must not contain a query string");
});
