import { expect, test } from "vitest";
import { createClient } from "./client.ts";

const answering = (response: () => Response) => createClient({ url: "http://localhost", fetch: async () => response() });

test("nothing is what some routes answer with, and no answer of the others", async () => {
  const client = answering(() => new Response(null, { status: 204 }));
  expect(await client.threads.delete("t")).toBeUndefined();
  expect(await client.pending.retract("t", "m", 1)).toBeUndefined();
  await expect(client.threads.create()).rejects.toMatchObject({ code: "server_unreachable" });
});
