import { EVENT_TABLE } from "@awaken/contract";
import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import { KEPT } from "./events.ts";

test("the client waits for the cursor of whatever the log alone tells", () => {
  // Both are also told while the answer that they are about is under way.
  const live = new Set(["stream-reset", "tool-call-cancel"]);
  const kept = Object.entries(EVENT_TABLE).flatMap(([type, { isStored }]) => (isStored && !live.has(type) ? [type] : []));
  expect(Object.keys(KEPT).toSorted()).toEqual(kept.toSorted());
});

test("whoever attaches behind the end of a run is told that nothing will come, and does not ask again", async () => {
  const asked: string[] = [];
  const client = createClient({
    url: "http://localhost",
    async fetch({ url }) {
      asked.push(new URL(url).pathname);
      if (url.includes("/threads/")) return Response.json({ error: "there is no thread 'r'", code: "thread_not_found" }, { status: 404 });
      return new Response(null, { status: 204 });
    },
  });
  expect(await Array.fromAsync(client.attach("r", { after: "the-last" }))).toEqual([]);
  expect(asked).toEqual(["/v1/threads/r/events/stream", "/v1/runs/r/events/stream"]);
});
