import { scopeId, threadId } from "@awaken/contract";
import type { ScopedHint } from "@awaken/contract/store";
import { expect, test } from "vitest";
import { Parcels } from "../parcels.ts";
import { Broadcast } from "./broadcast.ts";
import { enter, Tags } from "./event-log.ts";
import { openLog } from "./events.ts";
import { sweepAll } from "./sweep.ts";
import { type ScopedConfigKey, Tenants, threadRow } from "./tables.ts";

test("a sweep lets go of rows with nothing in them, and of tenants that have no others", () => {
  const hints = new Broadcast<ScopedHint>();
  const configChanges = new Broadcast<ScopedConfigKey>();
  const shared = {
    clock: () => 0,
    ids: () => "id",
    tags: new Tags("seed"),
    hints,
    parcels: new Parcels(),
    configChanges,
  };
  const tenants = new Tenants(shared);
  const [idle, read, held] = ["idle", "read", "held"].map((name) => tenants.open(scopeId(name)));
  const scope = { type: "thread", threadId: threadId("t") } as const;
  for (const tables of tenants.all()) openLog(tables, scope);
  if (read !== undefined) enter(openLog(read, scope));
  if (held !== undefined) threadRow(held, scope.threadId).epoch = 1;
  sweepAll(tenants, {}, 0);
  expect(tenants.all()).toEqual([read, held]);
  expect(idle?.threads.size).toBe(0);
});
