import { readFileSync } from "node:fs";
import { createClient } from "@awaken/client";
import type { AgentEvent } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { type AttachedEvent, createRuntime } from "@awaken/runtime";
import { scripted } from "@awaken/runtime/testing";
import { expect, test } from "vitest";
import { framesOf, openServer, request } from "../server/support/client.ts";
import { factsOf, wordsOf } from "./shown.ts";
import { type Golden, STORIES, tell } from "./stories.ts";

// Nobody who ran the story is asked: these have the store alone.

const read = (kind: string): Golden =>
  JSON.parse(readFileSync(new URL(`../../packages/contract/golden/${kind}.json`, import.meta.url), "utf8"));

async function upTo(count: number, events: AsyncIterable<AttachedEvent>): Promise<readonly AttachedEvent[]> {
  const seen: AttachedEvent[] = [];
  let ends = 0;
  for await (const event of events) {
    seen.push(event);
    if (event.type === "run-end") ends += 1;
    if (ends === count) break;
  }
  return seen;
}

async function* overHttp(fetch: (request: Request) => Response | Promise<Response>): AsyncGenerator<AttachedEvent, void, undefined> {
  for await (const { id, data } of framesOf(await fetch(request("GET", "/v1/threads/t/events/stream")))) {
    const { cursor: _, ...event }: AttachedEvent = data;
    yield id === undefined ? event : { ...event, cursor: id };
  }
}

/** What is shown by each way on which events leave the process. */
async function carry(store: QueueStore, count: number): Promise<Readonly<Record<string, readonly AttachedEvent[]>>> {
  await using runtime = createRuntime({
    providers: { house: scripted([]) },
    models: { fast: { provider: "house", model: "fast-1" } },
    agents: { assistant: { model: "fast" } },
    store,
    workers: false,
    log: { warn() {}, error() {} },
  });
  const server = openServer({ runtime });
  const client = createClient({ url: "http://localhost", fetch: async (asked) => server.fetch(asked) });
  return {
    relay: await upTo(count, runtime.attach("t")),
    http: await upTo(count, overHttp(server.fetch)),
    client: await upTo(count, client.attach("t")),
  };
}

const byType = (events: readonly AgentEvent[], isTicket: boolean) =>
  factsOf(events).filter(({ type }) => (type === "ticket-open") === isTicket);

test.each(Object.entries(STORIES))("%s: relay, HTTP and client show the recorded log from the store alone", async (kind, story) => {
  const golden = read(kind).activations;
  let carried: Awaited<ReturnType<typeof carry>> = {};
  await tell(story, async (store) => {
    carried = await carry(store, golden.length);
  });
  for (const [carrier, seen] of Object.entries(carried)) {
    const plain: readonly AgentEvent[] = JSON.parse(JSON.stringify(seen));
    expect(byType(plain, false), carrier).toEqual(byType(golden.flat(), false));
    // Tickets are told when the run has left, whatever else it says meanwhile.
    expect(byType(plain, true), carrier).toEqual(byType(golden.flat(), true));
    expect(wordsOf(plain), carrier).toEqual(wordsOf(golden.flat()));
    expect(seen.at(-1)?.cursor, carrier).toEqual(expect.any(String));
  }
  expect(Object.keys(carried)).toEqual(["relay", "http", "client"]);
});
