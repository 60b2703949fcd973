import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@awaken/contract";
import { command, createRuntime, definePlugin, defineState, defineTool, reply } from "@awaken/runtime";
import { scripted, text, ticketsOf, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, describe, expect, it, test } from "vitest";
import * as z from "zod";
import { openDesk } from "./harness.test-support.ts";
import { permissionOverrides, permissionPolicy } from "./policy.ts";
import { previewPermission } from "./preview.ts";
import { remember } from "./remember.ts";
import type { PermissionSectionInput } from "./section.ts";

const bash = (command: string) => toolCall("Bash", { command });
const DENIED = "Tool 'Bash' denied by permission rules";

/** Writes rules into the state of its run or thread, as a host or a skill would. */
const writer = (id: string, change: () => ReturnType<typeof command>) =>
  defineTool({
    id,
    description: "",
    input: z.object({}),
    state: [permissionPolicy, permissionOverrides],
    execute: () => reply("ok", { command: change() }),
  });

async function firstTicket(desk: ReturnType<typeof openDesk>, thread = "t") {
  const waiting = await desk.runtime.run({ thread, input: "go" });
  const [ticket] = ticketsOf(waiting);
  if (ticket === undefined) throw new Error(`the run is ${waiting.status}`);
  return ticket;
}

describe("what becomes of a call", () => {
  test("extensions 16: with no rules and no default, a call suspends with an id of the runtime's own and action `tool:PermissionConfirm`", async () => {
    const desk = openDesk([bash("ls"), bash("ls"), text("ok")]);
    const first = await firstTicket(desk, "a");
    expect(first).toMatchObject({
      action: "tool:PermissionConfirm",
      message: "Permission required for tool 'Bash'",
      parameters: { command: "ls" },
      input: { command: "ls" },
      toolName: "Bash",
    });
    const second = await firstTicket(desk, "b");
    expect(new Set([first.id, second.id, first.toolCallId, second.toolCallId]).size).toBeGreaterThanOrEqual(3);
    expect(first.id).not.toBe(second.id);
    expect(desk.ran).toEqual([]);
  });

  test("extensions 17: deny beats a more specific allow; allow beats a more specific ask", async () => {
    const rules = [
      { tool: 'Bash(command = "rm x")', behavior: "allow" },
      { tool: "/^Ba/(rm *)", behavior: "deny" },
      { tool: "*", behavior: "allow" },
      { tool: 'Bash(command = "ls")', behavior: "ask" },
    ] as const;
    const desk = openDesk([bash("rm x"), bash("ls"), text("ok")], { section: { rules: [...rules] } });
    expect((await desk.runtime.run({ input: "go" })).status).toBe("done");
    expect(desk.ran).toEqual([{ tool: "Bash", command: "ls" }]);
    expect(desk.asked(1)).toContain(DENIED);
  });

  test("extensions 18: resume of an asked call executes it once with the original arguments; cancel never executes it", async () => {
    const desk = openDesk([bash("ls"), text("ok"), bash("rm x"), text("then not")]);
    const ticket = await firstTicket(desk);
    const run = await desk.runtime.decide(ticket.id, { action: "approve" });
    expect((await run.result).status).toBe("done");
    expect(desk.ran).toEqual([{ tool: "Bash", command: "ls" }]);
    await desk.runtime.decide((await firstTicket(desk)).id, { action: "deny", reason: "too risky" }).then(({ result }) => result);
    expect(desk.ran).toEqual([{ tool: "Bash", command: "ls" }]);
    expect(desk.asked(3)).toContain("too risky");
  });

  test("extensions 19: a deny added while the call is suspended still blocks on resume", async () => {
    const store = memoryStore();
    const before = openDesk([bash("rm x")], { store });
    const ticket = await firstTicket(before);
    const after = openDesk([text("ok")], { store, section: { rules: [{ tool: "Bash(rm *)", behavior: "deny" }] } });
    const run = await after.runtime.decide(ticket.id, { action: "approve", ...remember() });
    expect((await run.result).status).toBe("done");
    expect([...before.ran, ...after.ran]).toEqual([]);
    // What was to be remembered is stored, has no effect on a call that a rule denies, and the answer says so.
    expect(after.asked(0)).toContain(`${DENIED}; what was to be remembered is kept, and has no effect`);
    const next = openDesk([bash("rm y"), bash("ls"), text("ok")], {
      store,
      section: { rules: [{ tool: "Bash(rm *)", behavior: "deny" }] },
    });
    expect((await next.runtime.run({ thread: "t", input: "again" })).status).toBe("done");
    expect(next.ran).toEqual([{ tool: "Bash", command: "ls" }]);
  });

  test("an approval with an edited input is judged by that input", async () => {
    const desk = openDesk([bash("ls"), text("ok")], { section: { rules: [{ tool: "Bash(rm *)", behavior: "deny" }] } });
    const run = await desk.runtime.decide((await firstTicket(desk)).id, { action: "approve", input: { command: "rm -rf /" } });
    expect((await run.result).status).toBe("done");
    expect(desk.ran).toEqual([]);
    expect(desk.asked(1)).toContain(DENIED);
  });

  test("extensions 20: an unconditionally denied tool is absent from the next model request; one denied only for some arguments is present", async () => {
    const rules = [
      { tool: "/_files$/", behavior: "deny" },
      { tool: "Bash(rm *)", behavior: "deny" },
      { tool: "read_*", behavior: "allow" },
    ] as const;
    const desk = openDesk([text("ok")], { section: { rules: [...rules] } });
    await desk.runtime.run({ input: "go" });
    expect(desk.offered(0)).toEqual(["Bash", "read_file"]);
  });

  test("extensions 20: a deny that comes while the run goes on hides the tool from then on, and one that leaves shows it again", async () => {
    const shut = writer("shut", () => command().update(permissionPolicy, { type: "deny-tool", toolId: "Bash" }));
    const open = writer("open", () => command().update(permissionPolicy, { type: "remove-rule", pattern: " Bash(*) " }));
    const turns = [toolCall("shut", {}), toolCall("open", {}), text("ok")];
    const desk = openDesk(turns, { tools: [shut, open], section: { rules: [{ tool: "/^(shut|open)$/", behavior: "allow" }] } });
    await desk.runtime.run({ input: "go" });
    expect([0, 1, 2].map((request) => desk.offered(request).includes("Bash"))).toEqual([true, false, true]);
  });

  test("with the default deny, tools that no rule lets through are hidden and blocked", async () => {
    const rules = [
      { tool: "Bash(ls *)", behavior: "allow" },
      { tool: "read_file", behavior: "ask" },
    ] as const;
    const desk = openDesk([toolCall("list_files", {}), bash("rm x"), bash("ls x"), text("ok")], {
      section: { defaultBehavior: "deny", rules: [...rules] },
    });
    expect((await desk.runtime.run({ input: "go" })).status).toBe("done");
    expect(desk.offered(0)).toEqual(["Bash", "read_file"]);
    expect(desk.ran).toEqual([{ tool: "Bash", command: "ls x" }]);
    expect(desk.asked(1)).toContain("Tool 'list_files' denied by permission rules");
  });

  test("extensions 21: a malformed rule pattern fails resolution naming the rule index; no rule is dropped", () => {
    const rules = [
      { tool: "Bash", behavior: "allow" },
      { tool: "Bash(rm *", behavior: "deny" },
    ] as const;
    expect(() => openDesk([], { section: { rules: [...rules] } })).toThrow(/rule 1 — parse error at 4: a \) is missing/);
    const odd: PermissionSectionInput = JSON.parse('{ "rules": [{ "tool": "Bash", "behavior": "forbid" }] }');
    expect(() => openDesk([], { section: odd })).toThrow(/permission/);
  });

  test("extensions 22: removing a rule from the agent config takes effect in existing threads", async () => {
    const store = memoryStore();
    const allowed = openDesk([bash("ls"), text("ok")], { store, section: { rules: [{ tool: "Bash", behavior: "allow" }] } });
    expect((await allowed.runtime.run({ thread: "t", input: "go" })).status).toBe("done");
    const bare = openDesk([bash("ls")], { store });
    expect((await bare.runtime.run({ thread: "t", input: "go" })).status).toBe("waiting");
    expect(bare.ran).toEqual([]);
  });

  test("extensions 26: two calls in one step, one allowed and one asked: the allowed one runs, the run waits for the other", async () => {
    const both = toolCalls([
      { name: "Bash", input: { command: "make" } },
      { name: "read_file", input: { path: "a" } },
    ]);
    const desk = openDesk([both, text("ok")], { section: { rules: [{ tool: "read_*", behavior: "allow" }] } });
    const ticket = await firstTicket(desk);
    expect(ticket.toolName).toBe("Bash");
    expect(desk.ran).toEqual([{ tool: "read_file", path: "a" }]);
    await (await desk.runtime.decide(ticket.id, { action: "approve" })).result;
    expect(desk.ran).toEqual([
      { tool: "read_file", path: "a" },
      { tool: "Bash", command: "make" },
    ]);
  });
});

describe("layers", () => {
  test("extensions 24: a skill grant turns ask into allow for that run only and cannot override a deny", async () => {
    const grant = writer("grant", () =>
      command()
        .update(permissionOverrides, { type: "set-rule", pattern: "Bash", behavior: "allow", source: "skill" })
        .update(permissionOverrides, { type: "set-rule", pattern: "read_file", behavior: "allow", source: "skill" })
        .update(permissionOverrides, { type: "set-default", behavior: "allow" }),
    );
    const rules = [
      { tool: "grant", behavior: "allow" },
      { tool: "read_file", behavior: "deny" },
    ] as const;
    const turns = [
      toolCall("grant", {}),
      bash("ls"),
      toolCall("read_file", { path: "a" }),
      toolCall("list_files", {}),
      text("ok"),
      bash("ls"),
    ];
    const desk = openDesk(turns, { tools: [grant], section: { rules: [...rules] } });
    const waiting = await desk.runtime.run({ thread: "t", input: "go" });
    expect(desk.ran).toEqual([{ tool: "Bash", command: "ls" }]);
    expect(desk.asked(3)).toContain("Tool 'read_file' denied by permission rules");
    // The grant has no default: the next tool is asked about.
    const [ticket] = ticketsOf(waiting);
    expect(ticket?.toolName).toBe("list_files");
    const run = await desk.runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect((await run.result).status).toBe("done");
    const next = await desk.runtime.run({ thread: "t", input: "again" });
    expect(ticketsOf(next).map(({ toolName }) => toolName)).toEqual(["Bash"]);
  });

  test("a grant outlives a wait of its run", async () => {
    const grant = writer("grant", () => command().update(permissionOverrides, { type: "allow-tool", toolId: "Bash" }));
    const section = { rules: [{ tool: "grant", behavior: "allow" as const }] };
    const store = memoryStore();
    const desk = openDesk([toolCall("grant", {}), toolCall("list_files", {})], { tools: [grant], section, store });
    const ticket = await firstTicket(desk);
    const later = openDesk([bash("ls"), text("ok")], { tools: [grant], section, store });
    const run = await later.runtime.decide(ticket.id, { action: "approve" });
    expect((await run.result).status).toBe("done");
    expect(later.ran).toEqual([{ tool: "Bash", command: "ls" }]);
  });

  test("extensions 25: `tool:X` and the pattern `X` share one key", async () => {
    const set = writer("set", () =>
      command()
        .update(permissionPolicy, { type: "deny-tool", toolId: "Bash" })
        .update(permissionPolicy, { type: "set-rule", pattern: "Bash(*)", behavior: "ask" }),
    );
    const store = memoryStore();
    const desk = openDesk([toolCall("set", {}), bash("ls")], {
      store,
      tools: [set],
      section: { rules: [{ tool: "set", behavior: "allow" }] },
    });
    expect((await firstTicket(desk)).toolName).toBe("Bash");
    const rule = { subject: { type: "tool", toolId: "Bash" }, behavior: "ask", source: "runtime" };
    const seen = openDesk([text("ok")], {
      store,
      plugins: [
        definePlugin({
          id: "look",
          register: (r) =>
            r.hook("beforeInference", ({ state }) => expect(state.get(permissionPolicy)).toEqual({ rules: { "tool:Bash": rule } })),
        }),
      ],
    });
    expect((await seen.runtime.run({ thread: "t", input: "look" })).status).toBe("done");
  });

  test("a thread's ask takes the place of the section's allow of the same key, and its allow not that of a deny", async () => {
    const set = writer("set", () =>
      command()
        .update(permissionPolicy, { type: "set-rule", pattern: "Bash", behavior: "ask" })
        .update(permissionPolicy, { type: "set-tool", toolId: "list_files", behavior: "allow" }),
    );
    const rules = [
      { tool: "set", behavior: "allow" },
      { tool: "Bash", behavior: "allow" },
      { tool: "list_files", behavior: "deny" },
    ] as const;
    const both = toolCalls([
      { name: "Bash", input: { command: "ls" } },
      { name: "list_files", input: {} },
    ]);
    const desk = openDesk([toolCall("set", {}), both], { tools: [set], section: { rules: [...rules] } });
    const run = desk.runtime.stream({ thread: "t", input: "go" });
    const ends: string[] = [];
    for await (const event of run) if (event.type === "tool-call-end") ends.push(`${event.toolName} ${event.outcome}`);
    expect(ends.toSorted()).toEqual(["Bash suspended", "list_files failed", "set succeeded"]);
  });

  test("a rule of the thread that cannot be read any more stops every call: nobody knows what it denied", async () => {
    // What another version of the language may have left behind.
    const older = defineState("permission_policy", {
      scope: "thread",
      schema: z.object({ rules: z.record(z.string(), z.unknown()) }),
      initial: () => ({ rules: {} }),
      apply: (_, rule: JsonObject) => ({ rules: { odd: rule } }),
    });
    const rule = { subject: { type: "pattern", pattern: "Bash(rm" }, behavior: "deny", source: "user" };
    const store = memoryStore();
    const leave = defineTool({
      id: "leave",
      description: "",
      input: z.object({}),
      state: [older],
      execute: () => reply("ok", { command: command().update(older, rule) }),
    });
    const model = scripted([toolCall("leave", {}), text("ok")]);
    const before = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: { assistant: { model: "fast" } },
      tools: [leave],
      store,
    });
    expect((await before.run({ thread: "t", input: "go" })).status).toBe("done");
    const desk = openDesk([bash("ls"), text("ok")], { store, section: { defaultBehavior: "allow" } });
    expect((await desk.runtime.run({ thread: "t", input: "go" })).status).toBe("done");
    expect(desk.ran).toEqual([]);
    expect(desk.asked(1)).toContain("Tool 'Bash' denied: its permission could not be decided (parse error at 4");
  });
});

const folder = mkdtempSync(join(tmpdir(), "awaken-permission-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(join(folder, `${Math.random()}.db`))],
])("remembered decisions on %s", (_, open) => {
  test("extensions 23: a remembered approval applies to the next run of the same thread and not to other threads", async () => {
    const store = open();
    const desk = openDesk([bash("npm test"), text("ok")], { store });
    const ticket = await firstTicket(desk);
    await (await desk.runtime.decide(ticket.id, { action: "approve", ...remember() })).result;
    const next = openDesk([bash("npm run x"), text("ok"), bash("ls")], { store });
    expect((await next.runtime.run({ thread: "t", input: "more" })).status).toBe("done");
    expect(next.ran).toEqual([{ tool: "Bash", command: "npm run x" }]);
    expect((await next.runtime.run({ thread: "other", input: "more" })).status).toBe("waiting");
  });

  test("the rule of a decision is remembered instead of the tool, also within its run", async () => {
    const desk = openDesk([bash("npm test"), bash("npm i"), bash("rm x")], { store: open() });
    const ticket = await firstTicket(desk);
    const run = await desk.runtime.decide(ticket.id, { action: "approve", ...remember({ rule: "Bash(npm *)" }) });
    const waiting = await run.result;
    expect(desk.ran.map(({ command }) => command)).toEqual(["npm test", "npm i"]);
    expect(ticketsOf(waiting).map(({ input }) => input)).toEqual([{ command: "rm x" }]);
  });

  test("a remembered denial denies from then on, without a question", async () => {
    const store = open();
    const desk = openDesk([bash("rm x"), text("then not")], { store });
    await (await desk.runtime.decide((await firstTicket(desk)).id, { action: "deny", ...remember({ rule: "Bash(rm *)" }) })).result;
    const next = openDesk([bash("rm y"), text("ok")], { store });
    expect((await next.runtime.run({ thread: "t", input: "more" })).status).toBe("done");
    expect(next.ran).toEqual([]);
    expect(next.asked(1)).toContain(DENIED);
  });
});

describe("what is remembered", () => {
  test("a decision without `remember` is for its call alone", async () => {
    const desk = openDesk([bash("ls"), bash("ls")]);
    const run = await desk.runtime.decide((await firstTicket(desk)).id, { action: "approve", metadata: { remember: "none" } });
    expect((await run.result).status).toBe("waiting");
  });

  test("a malformed rule is refused where it is made; over a wire an approval keeps nothing, and a denial denies the whole tool", async () => {
    expect(() => remember({ rule: "Bash(" })).toThrow(expect.objectContaining({ code: "invalid_pattern" }));
    const metadata = { remember: "thread", rule: "Bash(" };
    const approved = openDesk([bash("ls"), bash("ls")]);
    const run = await approved.runtime.decide((await firstTicket(approved)).id, { action: "approve", metadata });
    expect((await run.result).status).toBe("waiting");
    const denied = openDesk([bash("ls"), bash("pwd"), text("ok")]);
    const other = await denied.runtime.decide((await firstTicket(denied)).id, { action: "deny", metadata });
    expect((await other.result).status).toBe("done");
    expect([denied.ran, denied.asked(2).includes(DENIED)]).toEqual([[], true]);
  });

  test("an approval of another question leaves no rule", async () => {
    const asks = definePlugin({
      id: "asks",
      register: (r) => r.gate(({ resume }) => (resume === undefined ? { type: "suspend", suspension: { action: "approve" } } : undefined)),
    });
    const store = memoryStore();
    const section = { rules: [{ tool: "list_files", behavior: "allow" as const }] };
    const desk = openDesk([toolCall("list_files", {}), text("ok")], { plugins: [asks], section, store });
    const run = await desk.runtime.decide((await firstTicket(desk)).id, { action: "approve", ...remember() });
    expect((await run.result).status).toBe("done");
    const later = openDesk([toolCall("list_files", {})], { store });
    expect((await firstTicket(later)).action).toBe("tool:PermissionConfirm");
  });
});

describe("which calls pass it", () => {
  it("frontend tools are asked about and hidden like all others", async () => {
    const paint = { id: "paint", description: "", parameters: { type: "object" } };
    const desk = openDesk([toolCall("paint", {})], { section: { rules: [{ tool: "Bash", behavior: "deny" }] } });
    const waiting = await desk.runtime.run({ thread: "t", input: "go", frontendTools: [paint] });
    expect(ticketsOf(waiting)).toMatchObject([{ toolName: "paint", action: "tool:PermissionConfirm" }]);
    const hidden = openDesk([text("ok")], { section: { rules: [{ tool: "p*", behavior: "deny" }] } });
    await hidden.runtime.run({ input: "go", frontendTools: [paint] });
    expect(hidden.offered(0)).not.toContain("paint");
  });

  it("an input that takes too long to judge does not pass", async () => {
    const rules = [
      { tool: 'Bash(command =~ "(a|aa){1,200}(a|aa){1,200}$")', behavior: "deny" },
      { tool: "*", behavior: "allow" },
    ] as const;
    const desk = openDesk([bash("a".repeat(200_000)), text("ok")], { section: { rules: [...rules] } });
    expect((await desk.runtime.run({ input: "go" })).status).toBe("done");
    expect(desk.ran).toEqual([]);
    expect(desk.asked(1)).toContain("its permission could not be decided");
  });
});

describe("the preview", () => {
  it("tells what a section makes of the tools, without running anything", async () => {
    const rules = [
      { tool: "*_files", behavior: "deny" },
      { tool: 'Bash( comand ~ "rm *" )', behavior: "deny", scope: "project" },
      { tool: "read_file(*)", behavior: "allow" },
    ] as const;
    const { runtime, model } = openDesk([], { section: { defaultBehavior: "allow", rules: [...rules] } });
    expect(await previewPermission(runtime, "assistant")).toEqual({
      agentId: "assistant",
      isEnabled: true,
      defaultBehavior: "allow",
      candidateTools: ["Bash", "list_files", "read_file"],
      unconditionallyDenied: ["list_files"],
      effectiveTools: ["Bash", "read_file"],
      argsConditionalRules: [{ tool: 'Bash(comand ~ "rm *")', behavior: "deny" }],
      warnings: [`rule 'Bash(comand ~ "rm *")': the input of 'Bash' has no 'comand'`],
    });
    await expect(previewPermission(runtime, "nobody")).rejects.toMatchObject({ code: "agent_not_found" });
    expect(model.requests).toEqual([]);
  });
});
