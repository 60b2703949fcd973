import { expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { ask, openServer } from "./support/client.ts";

const ORIGIN = "https://evil.example.com";

test("what a browser adds to requests of any page by itself is no key: such a change is refused, and the answer says what helps", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime, access: ({ headers }) => (headers.has("authorization") ? { scopeId: "default" } : undefined) });
  const create = (authorization: string) => ask(server, "POST", "/v1/threads", { body: {}, headers: { origin: ORIGIN, authorization } });
  const added = ["Basic YW5hOnNlY3JldA==", "Negotiate YIIB", "NTLM TlRM", "Digest username=ana", "", "Bearer", "Bearer a, Basic b"];
  for (const authorization of added) {
    const { status, body } = await create(authorization);
    expect([authorization, status, body["code"]]).toEqual([authorization, 403, "origin_not_allowed"]);
    expect(body["error"]).toMatch(/`origins`.*Bearer.*proxy that changes Host/);
  }
  expect(await shared.stores[0].threads.count({})).toBe(0);
  expect((await create("Bearer token")).status).toBe(201);
});
