import { type JsonObject, type Turn, toolCallId } from "@awaken/contract";
import { addContextMessage, answer, ask, command, defineAction, defineEffect, defineState, defineTool, reply } from "@awaken/runtime";
import { text, ticketsOf } from "@awaken/runtime/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { frozenIn } from "./edits.ts";
import { anything, asOfNow, callT, deep, doing, expectSame, GO, Play, type Story } from "./play.ts";

const any = { schema: z.custom<JsonObject>(() => true), initial: (): JsonObject => ({}), apply: (_: JsonObject, next: JsonObject) => next };
const note = defineState("note", any);
const notes = defineState("notes", { ...any, scope: "thread" });
const payload = z.custom<ReturnType<typeof deep>>(() => true);
const soon = defineAction("p.soon", { phase: "stepEnd", payload });
const out = defineEffect("p.out", { payload });
const late = defineAction("p.late", { phase: "runEnd", payload });

/** Frozen on the outside alone: what is in it can still be edited. */
const shell = (): ReturnType<typeof deep> => Object.freeze(deep());

/** A tool that asks first, and whose gate keeps what it was given and what it asked with. */
const asking = (play: Play) =>
  defineTool({
    ...{ id: "t", description: "", input: anything, parameters: { type: "object" } },
    approve: (input) => {
      play.lend(input);
      return ask("Now?", play.lend({ parameters: deep(), responseSchema: { type: "object" } }));
    },
    execute: (input): unknown => input,
  });

const STORIES: Readonly<Record<string, Story>> = {
  "context, extras and trace of a request": async (play) => {
    const seen: unknown[] = [];
    const tools = [doing(({ extras, principal }) => seen.push(asOfNow([extras, principal])))];
    await using runtime = play.open([callT(), text("end")], { tools });
    const request = play.lend({ ...GO, frontendContext: deep(), extras: deep(), principal: deep(), trace: { correlationId: "c" } });
    const running = runtime.run(request);
    play.edit();
    await running;
    play.say(seen);
  },
  "what a gate of a tool was given, and what it asks with": async (play) => {
    const register = { register: (r: { hook(phase: "runEnd", hook: () => undefined): void }) => r.hook("runEnd", () => play.edit()) };
    await using runtime = play.open([callT(deep()), text("end")], { tools: [asking(play)], ...register });
    const waiting = await runtime.run(GO);
    play.edit();
    const [ticket] = ticketsOf(waiting);
    play.say(ticket);
    await (await runtime.decide(ticket?.id ?? "", { action: "approve", id: "d1" })).result;
    play.edit();
  },
  "what a gate of a plugin answers with, and the call that it is shown": async (play) => {
    await using runtime = play.open([callT(deep()), text("end")], {
      tools: [doing(() => "x")],
      register: (r) => {
        r.gate(({ call }) => {
          play.edit(call.input);
          return answer(play.lend(deep()));
        });
        r.hook("afterToolExecute", () => play.edit());
      },
    });
    play.say(await runtime.run(GO));
  },
  "the call that hooks are shown, and how the run ended": async (play) => {
    await using runtime = play.open([callT(deep()), text("end")], {
      tools: [doing((_, input) => input)],
      register: (r) => {
        r.hook("beforeToolExecute", ({ call }) => play.edit(call));
        r.hook("afterToolExecute", ({ call }) => play.edit(call));
        r.hook("runEnd", ({ termination, agent, messages }) => play.edit(termination, agent, ...messages));
      },
    });
    await runtime.run(GO);
    await runtime.run(GO);
  },
  "state and scheduled work of a hook, also what is frozen on the outside alone": async (play) => {
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(() => play.edit())],
      register: (r) => {
        r.state(note);
        r.state(notes);
        r.action(soon, (given) => {
          play.say(given);
          return play.edit(given);
        });
        r.action(late, () => {
          throw new Error("kept among those that failed");
        });
        const [one, two] = [shell(), shell()].map((value) => play.hold(value));
        r.hook("stepStart", () =>
          command()
            .update(note, one ?? {})
            .update(notes, two ?? {}),
        );
        r.hook("afterInference", () => command().schedule(soon, play.hold(shell())).schedule(late, play.hold(deep())));
        r.hook("beforeInference", ({ state }) => play.edit(...[state.get(note), state.get(notes)], one, two));
        r.hook("runEnd", () => play.edit());
      },
    });
    await runtime.run(GO);
    play.edit();
  },
  "scheduled work and effects, while another hook is waited for, and while one effect after the other happens": async (play) => {
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(() => "x")],
      register: (r) => {
        r.action(soon, (given) => play.say(given));
        r.effect(out, async (given) => {
          await new Promise(setImmediate);
          play.say(given);
          play.edit();
        });
        r.hook("stepStart", () => command().schedule(soon, play.lend(deep())).emit(out, play.lend(deep())).emit(out, play.lend(deep())));
        r.hook("stepStart", async () => {
          await new Promise(setImmediate);
          return play.edit();
        });
      },
    });
    await runtime.run(GO);
  },
  "state of hooks, while another one is waited for, at once and after a while": async (play) => {
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(() => "x")],
      register: (r) => {
        r.state(note);
        r.state(notes);
        r.hook("stepStart", () => command().update(note, play.hold(deep())));
        r.hook("stepStart", async () => {
          await Promise.resolve();
          return command().update(notes, play.hold(deep()));
        });
        r.hook("stepStart", async () => {
          await new Promise(setImmediate);
          return play.edit();
        });
        r.hook("beforeInference", ({ state }) => {
          play.say(state.get(note));
          play.say(state.get(notes));
        });
      },
    });
    await runtime.run(GO);
  },
  "what an effect is given, by its handler": async (play) => {
    const kept = play.lend(deep());
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(() => "x")],
      register: (r) => {
        r.effect(out, (given) => play.edit(given));
        r.hook("stepStart", () => {
          play.say(kept);
          return command().emit(out, kept);
        });
      },
    });
    await runtime.run(GO);
  },
  "messages that a plugin puts into the request": async (play) => {
    const message = { key: "k", role: "user", target: "conversation", persistent: true, content: "ctx" } as const;
    await using runtime = play.open([callT(), text("end"), text("two")], {
      tools: [doing(() => play.edit())],
      register: (r) => {
        r.hook("stepStart", ({ step }) => (step > 1 ? play.edit() : command().schedule(addContextMessage, play.hold({ ...message }))));
        // What was scheduled is due behind the hooks.
        r.hook("beforeInference", () => play.edit());
      },
    });
    await runtime.run(GO);
    play.edit();
    await runtime.run(GO);
  },
  "a reply of a tool, as soon as it was given": async (play) => {
    const later = (turns: number): void => {
      play.edit();
      if (turns > 0) queueMicrotask(() => later(turns - 1));
    };
    const image = { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } } as const;
    const execute = () => {
      // The runtime has it when the promises around the call are over.
      setImmediate(() => later(20));
      const own = command().update(note, play.hold(deep())).schedule(late, play.hold(deep()));
      return reply(play.lend(deep()), {
        media: play.lend([{ ...image, source: { ...image.source } }]),
        metadata: play.lend(deep()),
        command: own,
      });
    };
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(execute)],
      register: (r) => {
        r.state(note);
        r.action(late, (given) => play.say(given));
        r.hook("stepEnd", () => new Promise<undefined>((resolve) => setImmediate(() => setImmediate(resolve, undefined))));
      },
    });
    await runtime.run(GO);
  },
  "what schemas give and keep": async (play) => {
    const kept = play.lend(deep());
    const given = anything.transform(() => kept);
    const gives = { id: "t", description: "", input: given, parameters: { type: "object" } };
    const json: JsonObject = { type: "object" };
    const validate = () => ({ value: play.lend(deep()) });
    const output = {
      "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: () => json, output: () => json } },
    } as const;
    await using runtime = play.open([callT(), text('{"a":1}')], {
      tools: [defineTool({ ...gives, output: given, execute: (): unknown => ({}) })],
      register: (r) => {
        r.hook("stepEnd", () => play.edit());
        r.hook("runEnd", () => play.edit());
      },
    });
    const { usage } = await runtime.run({ ...GO, output });
    play.edit();
    play.say(usage);
  },
  "the turn of a model that answers in one piece": async (play) => {
    const said = () => ({ usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, model: "m", durationMs: 1, malformedCalls: [] });
    const id = toolCallId("c1");
    const first: Turn = {
      ...{ ...said(), text: "", stopReason: "tool-use", response: { id: "r", model: "mm" } },
      toolCalls: [{ id, name: "t", input: deep() }],
      content: [
        { type: "reasoning", text: "hm", signature: "s", providerMetadata: { v: deep() } },
        { type: "tool-call", id, name: "t", input: deep(), providerMetadata: { v: deep() } },
      ],
    };
    const last: Turn = { ...said(), text: "end", stopReason: "end-turn", toolCalls: [], content: [{ type: "text", text: "end" }] };
    const turns = [play.lend(first), last];
    const complete = async (): Promise<Turn> => turns.shift() ?? last;
    await using runtime = play.open([], {
      tools: [doing((_, input) => play.edit() ?? input)],
      providers: { house: { name: "house", complete } },
    });
    await runtime.run(GO);
    play.edit();
  },
};

describe("later edits reach neither the records nor the model", () => {
  it.each(Object.entries(STORIES))("%s", async (_, story) => {
    await expectSame(story);
  });
});

describe("is one's own, and not frozen:", () => {
  it("the input that a tool is given", async () => {
    const play = new Play(false);
    const seen: unknown[] = [];
    await using runtime = play.open([callT(deep()), text("end")], { tools: [doing((_, input) => seen.push(...frozenIn(input), "input"))] });
    await runtime.run(GO);
    expect(seen).toEqual(["input"]);
  });

  it("the result of a run, with its tickets", async () => {
    const play = new Play(false);
    await using runtime = play.open([callT(deep()), text("end")], { tools: [asking(play)] });
    const waiting = await runtime.run(GO);
    expect(ticketsOf(waiting)).toHaveLength(1);
    expect(frozenIn(waiting)).toEqual([]);
    expect(frozenIn(await runtime.run(GO))).toEqual([]);
  });
});
