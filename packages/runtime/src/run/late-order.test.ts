import { memoryStore } from "@awaken/stores/memory";
import { afterEach, expect, test, vi } from "vitest";
import { office, works } from "../builtin/background/tasks.test-support.ts";
import { text } from "../testing/script.ts";
import type { SendMessage } from "../tool/messages.ts";
import type { Tasks } from "../tool/tasks.ts";
import { slow } from "./gone.test-support.ts";
import { moreRoom } from "./more-door.ts";
import { seldom } from "./seldom-door.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

type Begin = (verbs: { readonly tasks: Tasks; readonly sendMessage: SendMessage }, name: string) => Promise<unknown>;

const KINDS: readonly (readonly [kind: string, begin: Begin])[] = [
  ["messages", ({ sendMessage }, name) => sendMessage({ relation: "agent", threadId: "other" }, name)],
  ["agents", ({ tasks }, name) => tasks.spawnAgent({ agent: "aide", input: name, name })],
  ["code", ({ tasks }, name) => tasks.spawn({ name }, async () => undefined)],
];

test.each(KINDS)(
  "%s that one call begins keep their order, also while the parts that begin them come one after the other",
  async (_, begin) => {
    await moreRoom.open();
    await seldom.open();
    const { runtime, does } = office(
      { lead: [works, text("done"), text("done"), text("done")], aide: [text("hi"), text("hi")] },
      { store: memoryStore(), workers: false },
    );
    const begun: string[] = [];
    does(async (verbs) => {
      const more = slow(moreRoom);
      const ends = slow(seldom);
      const first = begin(verbs, "first").then(() => void begun.push("first"));
      await more();
      const second = begin(verbs, "second").then(() => void begun.push("second"));
      await ends();
      await Promise.all([first, second]);
    });
    await runtime.run({ agent: "lead", thread: "t", input: "go" });
    expect(begun).toEqual(["first", "second"]);
    await runtime.close();
  },
);
