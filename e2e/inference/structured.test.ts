import { createRuntime } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { follow, storedMessages, storedText } from "./support/follow.ts";
import { SILENT } from "./support/task-runtime.ts";
import { VENDOR_NAMES, VENDORS } from "./support/vendors.ts";
import { openWire } from "./support/wire.ts";

const answer = { city: "東京", days: [{ tempC: 27 }, { tempC: 25 }] };
const schema = z.object({ city: z.string(), days: z.array(z.object({ tempC: z.number() })) });
const RETRY = { maxRetries: 1, backoffBaseMs: 1, maxStreamRetries: 2 };

/** Two halves of constrained JSON do not fit together, so words that a client has seen become void. */
test.each(VENDOR_NAMES)("%s: a typed answer that is cut begins again, and is typed and stored once", async (name) => {
  await using wire = await openWire(() => ({ content: JSON.stringify(answer) }));
  wire.chooseFault = () => (wire.requests.length === 1 ? { type: "malformed", at: 0.6 } : undefined);
  await using store = memoryStore();
  await using runtime = createRuntime({
    providers: { [name]: VENDORS[name].provider({ url: wire.url }) },
    models: { model: { provider: name, model: VENDORS[name].model } },
    agents: { agent: { model: "model", sections: { retry: RETRY } } },
    store,
    log: SILENT,
  });
  const { events, result, text } = await follow(runtime.stream({ agent: "agent", thread: "t", input: "Weather?", output: schema }));
  const voided = events.slice(
    0,
    events.findIndex(({ type }) => type === "stream-reset"),
  );
  expect(voided.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(0);
  expect(result).toMatchObject({ termination: { type: "natural-end" }, output: answer });
  expect(JSON.parse(text)).toEqual(answer);
  expect(storedText(await storedMessages(store, "t"), result.runId, "text")).toBe(text);
  expect(wire.requests).toHaveLength(2);
  expect(wire.requests[1]?.body).toEqual(wire.requests[0]?.body);
});
