import { consoleLog } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { defineState } from "./key.ts";
import { schemas } from "./late-schema.ts";
import { StateStore } from "./store.ts";

await schemas.open();

const notes = defineState("notes", {
  scope: "thread",
  schema: z.array(z.string()).readonly(),
  initial: (): readonly string[] => [],
  apply: (value, note: string) => [...value, note],
  migrations: [(value) => value],
});

const counter = defineState("counter", { schema: z.number(), initial: () => 0, apply: (value, add: number) => value + add });

function written() {
  const store = new StateStore(consoleLog);
  store.register([notes, counter]);
  store.commit(command().update(notes, "kept").update(counter, 3));
  return { thread: store.export("thread"), run: store.export("run") };
}

describe("keys that nobody registered", () => {
  it("read as absent and go back to the store as they came", () => {
    const { thread, run } = written();
    const store = new StateStore(consoleLog);
    store.restore(run, "skip");
    store.restoreThread(thread);
    expect(store.snapshot().get(notes)).toBeUndefined();
    expect(store.export("thread")).toMatchObject({ extensions: { notes: ["kept"] }, versions: { notes: 2 } });
    expect(store.export("run").extensions).toEqual({ counter: 3 });
    expect(store.export("full").extensions).toEqual({ counter: 3, notes: ["kept"] });
  });

  it("are there again when a plugin of the next agent registers them", () => {
    const { thread, run } = written();
    const store = new StateStore(consoleLog);
    store.restore(run, "skip");
    store.restoreThread(thread);
    store.register([notes, counter]);
    expect(store.snapshot().get(notes)).toEqual(["kept"]);
    expect(store.snapshot().get(counter)).toBe(3);
    store.commit(command().update(notes, "more"));
    expect(store.export("thread").extensions).toEqual({ notes: ["kept", "more"] });
  });

  it("of an earlier state are forgotten when another one is restored", () => {
    const { thread } = written();
    const store = new StateStore(consoleLog);
    store.restoreThread(thread);
    store.restoreThread({ ...thread, extensions: {}, versions: {} });
    expect(store.export("thread").extensions).toEqual({});
  });
});
