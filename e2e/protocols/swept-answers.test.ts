import type { JsonObject } from "@awaken/contract";
import { safeValidateUIMessages, type UIMessage } from "ai";
import { afterAll, describe, expect, test } from "vitest";
import { stopServer } from "../relay/support/nodes.ts";
import { openSite, type Site } from "./support/site.ts";

afterAll(stopServer);

const DAY = 24 * 3_600_000;

/** A page that sends by hand, a day after the other. */
class Visitor {
  readonly #site: Site;
  readonly #later: () => void;

  constructor(site: Site, later: () => void) {
    this.#site = site;
    this.#later = later;
  }

  async #send(path: string, body: object): Promise<Response> {
    const answer = await fetch(`${this.#site.url}/v1/ai-sdk${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBeLessThan(300);
    return answer;
  }

  async #post(path: string, body: object): Promise<void> {
    await (await this.#send(path, body)).text();
    this.#later();
  }

  /** Stops the answer in this step. */
  async stopIn(step: number, id: string, text: string): Promise<void> {
    const messages = [{ id, role: "user", parts: [{ type: "text", text }] }];
    const answer = await this.#send("/chat", { id: "t", agentId: "assistant", messages });
    let seen = "";
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const isThere = seen.split("start-step").length > step;
      seen += chunk;
      if (!isThere && seen.split("start-step").length > step) await this.#send("/chat/t/stop", {});
    }
    this.#later();
  }

  #chat(body: object): Promise<void> {
    return this.#post("/chat", { id: "t", agentId: "assistant", ...body });
  }

  say(id: string, text: string, more: object = {}): Promise<void> {
    return this.#chat({ messages: [{ id, role: "user", parts: [{ type: "text", text }] }], ...more });
  }

  stop(): Promise<void> {
    return this.#post("/chat/t/stop", {});
  }

  deny(reason?: string): Promise<void> {
    return this.#answer({ approved: false, ...(reason === undefined ? undefined : { reason }) });
  }

  approve(): Promise<void> {
    return this.#answer({ approved: true });
  }

  async #answer(answer: { readonly approved: boolean; readonly reason?: string }): Promise<void> {
    const messages = await this.history();
    const answered = messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) => {
        const { approval, ...rest } = { approval: undefined, ...part };
        return approval !== undefined && approval.approved === undefined
          ? { ...rest, state: "approval-responded", approval: { id: approval.id, ...answer } }
          : part;
      }),
    }));
    await this.#chat({ messages: answered });
  }

  async history(): Promise<UIMessage[]> {
    const { messages }: { messages: UIMessage[] } = await (await fetch(`${this.#site.url}/v1/ai-sdk/threads/t/messages`)).json();
    expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
    return messages;
  }

  /** Without what is told beside, and what was asked before somebody said no. */
  async seen(): Promise<object[]> {
    return (await this.history()).map(({ id, role, parts }) => ({
      id,
      role,
      parts: parts
        .filter(({ type }) => !type.startsWith("data-"))
        .map((part): JsonObject => {
          const { approval, ...rest } = JSON.parse(JSON.stringify(part));
          if (approval?.approved !== false) return rest;
          const { descriptor: _, requestReason: __, ...answer } = approval;
          return { ...rest, approval: answer };
        }),
    }));
  }
}

const CASES: Readonly<Record<string, { readonly story: (visitor: Visitor) => Promise<void>; readonly shows: object }>> = {
  "an answer that was asked for again": {
    async story(visitor) {
      await visitor.say("u1", "say");
      await visitor.say("u2", "look say");
      await visitor.say("u2", "look say", { trigger: "regenerate-message" });
      await visitor.say("u3", "think");
    },
    shows: ["user", "assistant", "user", "assistant output-available", "user", "assistant"],
  },
  "a message that was edited": {
    async story(visitor) {
      await visitor.say("u1", "say");
      await visitor.say("u2", "look say");
      await visitor.say("u2", "think", { messageId: "u2" });
      await visitor.say("u3", "say");
    },
    shows: ["user", "assistant", "user", "assistant", "user", "assistant"],
  },
  "a call that somebody said no to": {
    async story(visitor) {
      await visitor.say("u1", "pay say");
      await visitor.deny("too much");
      await visitor.say("u2", "pay say");
      await visitor.deny();
    },
    shows: ["user", "assistant output-denied", "user", "assistant output-denied"],
  },
  "a message instead of a decision": {
    async story(visitor) {
      await visitor.say("u1", "pay say");
      await visitor.say("u2", "look pay");
      await visitor.say("u3", "say");
    },
    shows: ["user", "assistant output-denied", "user", "assistant output-available output-denied", "user", "assistant"],
  },
  "runs that failed before they said anything": {
    async story(visitor) {
      await visitor.say("u1", "fail");
      await visitor.say("u2", "look say");
      await visitor.say("u3", "say");
      await visitor.say("u4", "fail");
    },
    shows: ["user", "assistant", "user", "assistant output-available", "user", "assistant", "user", "assistant"],
  },
  "runs that failed in a later turn": {
    async story(visitor) {
      await visitor.say("u1", "look fail");
      await visitor.say("u2", "pay fail");
      await visitor.approve();
      await visitor.say("u3", "look look fail");
      await visitor.say("u4", "say");
      await visitor.say("u5", "look fail");
    },
    shows: [
      "user",
      "assistant output-available",
      "user",
      "assistant output-available",
      "user",
      "assistant output-available output-available",
      "user",
      "assistant",
      "user",
      "assistant output-available",
    ],
  },
  "runs that were stopped before they said anything more": {
    async story(visitor) {
      await visitor.stopIn(1, "u1", "mute");
      await visitor.stopIn(2, "u2", "look mute");
      await visitor.say("u3", "say");
      await visitor.stopIn(3, "u4", "look look mute");
    },
    shows: [
      "user",
      "assistant",
      "user",
      "assistant output-available",
      "user",
      "assistant",
      "user",
      "assistant output-available output-available",
    ],
  },
  "a run that was stopped while it waited": {
    async story(visitor) {
      await visitor.say("u1", "two say");
      await visitor.stop();
      await visitor.say("u2", "say");
    },
    shows: ["user", "assistant output-denied output-denied", "user", "assistant"],
  },
};

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test.each(Object.entries(CASES))(
    "protocols 68: history is the same at each place that retention cuts the events: %s",
    async (_, scene) => {
      let now = Date.now();
      let days = 0;
      const later = () => {
        now += DAY;
        days += 1;
      };
      await using site = await openSite(engine, [], { clock: () => now });
      const visitor = new Visitor(site, later);
      await scene.story(visitor);
      const whole = await visitor.seen();
      const states = (await visitor.history()).map(({ role, parts }) =>
        [role, ...parts.flatMap((part) => ("toolCallId" in part ? [part.state] : []))].join(" "),
      );
      expect(states).toEqual(scene.shows);
      for (let kept = days - 0.5; kept > -1; kept -= 1) {
        await site.store.sweep({ eventsMs: kept < 0 ? -1 : kept * DAY });
        expect(await visitor.seen()).toEqual(whole);
      }
    },
  );
});
