// biome-ignore-all lint/suspicious/noTemplateCurlyInString: skills name their arguments so
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { command, definePlugin, defineTool } from "@awaken/runtime";
import { fakeClock, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { deferredTools } from "../deferred-tools/deferred-tools.ts";
import { npmServer, open as openMcp } from "../mcp/mcp.test-support.ts";
import { mcp } from "../mcp/mcp.ts";
import type { McpPrompt, McpState } from "../mcp/types.ts";
import { permission } from "../permission/permission.ts";
import { mcpSkills } from "./mcp-skills.ts";
import { skillFolders } from "./skill-folders.ts";
import { skillRecords } from "./skill-records.ts";
import { folderOf, open, skillMd } from "./skills.test-support.ts";
import { skills } from "./skills.ts";
import { skillVisibility } from "./state.ts";

const DONE = text("done");
const ids = async (root: string) => {
  const { skills: found, warnings } = await skillFolders(root).list(0);
  return { ids: found.map(({ id }) => id).sort(), warnings };
};

describe("extensions 51: `name` must equal the directory", () => {
  test("bad names are rejected with a warning, and other skills still load", async () => {
    const { root } = folderOf({
      "good/SKILL.md": skillMd("good"),
      "pdf-tools/SKILL.md": skillMd("pdf-tools"),
      "Bad--name/SKILL.md": skillMd("Bad--name"),
      "bad--name/SKILL.md": skillMd("bad--name"),
      "Upper/SKILL.md": skillMd("Upper"),
      "-lead/SKILL.md": skillMd("-lead"),
      "other/SKILL.md": skillMd("different"),
      "trail-/SKILL.md": skillMd("trail-"),
      ".hidden/SKILL.md": skillMd("hidden"),
      "no-skill/README.md": "nothing",
    });
    const found = await ids(root);
    expect(found.ids).toEqual(["good", "pdf-tools"]);
    expect(found.warnings).toHaveLength(6);
    expect(found.warnings.join("\n")).toContain("'name' is 'different' and its folder is 'other'");
    const { runtime, log, run, shown } = open({ folders: [root] }, [DONE]);
    await runtime.initialize();
    expect(log).toHaveLength(6);
    await run();
    expect(shown(0)).toContain("<name>good</name><description>About good</description>");
    expect(log).toHaveLength(6);
  });

  test("hostile folders: links out, a huge file, bad YAML, clashes: a warning each, the rest loads", async () => {
    const outside = folderOf({ "secret/SKILL.md": skillMd("secret"), "SKILL.md": skillMd("leak") });
    const { root, write } = folderOf({
      "good/SKILL.md": skillMd("good"),
      "huge/SKILL.md": skillMd("huge", "", "x".repeat(600 * 1024)),
      "yaml/SKILL.md": "---\nname: yaml\n  bad: [\n\t: {{\n---\n",
      "bomb/SKILL.md": `---\nname: bomb\ndescription: d\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n---\n`,
      "open/SKILL.md": "---\nname: open\ndescription: never ends",
      "none/SKILL.md": "# just text",
      "empty/SKILL.md": "---\nname: empty\n---\n",
      "long/SKILL.md": skillMd("long").replace("About long", "y".repeat(1_025)),
    });
    symlinkSync(join(outside.root, "secret"), join(root, "secret"));
    mkdirSync(join(root, "leak"));
    symlinkSync(join(outside.root, "SKILL.md"), join(root, "leak/SKILL.md"));
    mkdirSync(join(root, "dir/SKILL.md"), { recursive: true });
    const found = await ids(root);
    expect(found.ids).toEqual(["good"]);
    expect(found.warnings.map((line) => /'.*\/(\w+)' is left out/.exec(line)?.[1]).sort()).toEqual(
      ["bomb", "dir", "empty", "huge", "leak", "long", "none", "open", "secret", "yaml"].sort(),
    );
    const twin = folderOf({ "good/SKILL.md": skillMd("good", "", "The other one.") });
    const { runtime, log } = open(
      { folders: [root, twin.root], sources: [skillRecords({ good: { description: "d", instructions: "i" } })] },
      [],
    );
    await runtime.initialize();
    expect(log.filter((line) => line.startsWith("duplicate_skill_id"))).toEqual([
      "duplicate_skill_id: there are two skills 'good', and the later one is left out",
    ]);
    write("late/SKILL.md", skillMd("late"));
    expect((await ids(root)).ids).toEqual(["good", "late"]);
  });

  test("folders that other programs write load as they are", async () => {
    const { root } = folderOf({
      "pdf/SKILL.md":
        '---\r\nname: pdf\r\ndescription: Use this skill: it fills forms, e.g. when the user says "PDF"\r\nlicense: Proprietary. LICENSE.txt has complete terms\r\n---\r\n\r\n# PDF\r\n',
      "commit/SKILL.md":
        "---\nname: commit\ndescription: |\n  Writes a commit.\n  Use for git.\nallowed-tools: Bash(git add:*), Bash(git commit:*), Read\nargument-hint: [message]\nmodel: sonnet\ncontext: fork\nmetadata:\n  version: 1.2\n---\nCommit: $ARGUMENTS\n",
      "list/SKILL.md": "\uFEFF---\nname: list\ndescription: d\nallowed-tools:\n  - Read\n  - mcp__github__*\nhooks: {}\n---\nbody",
    });
    const { skills: found, warnings } = await skillFolders(root).list(0);
    expect(warnings).toEqual([]);
    const byId = new Map(found.map((skill) => [skill.id, skill]));
    expect(byId.get("pdf")?.description).toBe('Use this skill: it fills forms, e.g. when the user says "PDF"');
    expect(byId.get("commit")?.allowedTools).toEqual(["Bash(git add:*)", "Bash(git commit:*)", "Read"]);
    expect(await byId.get("commit")?.instruct("fix typo")).toBe("Commit: fix typo");
    expect(byId.get("list")?.allowedTools).toEqual(["Read", "mcp__github__*"]);
  });
});

test("extensions 52: the catalogue is sorted, stops at 32 entries or 16 KiB and says so", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`s${String(39 - index).padStart(2, "0")}`, { description: "a <b> & c", instructions: "i" }]),
  );
  const { run, shown } = open({ sources: [skillRecords(many)] }, [DONE]);
  await run();
  const names = [...shown(0).matchAll(/<name>(s\d\d)<\/name>/g)].map(([, name]) => name);
  expect(names).toEqual(Array.from({ length: 32 }, (_, index) => `s${String(index).padStart(2, "0")}`));
  expect(shown(0)).toContain("<note>8 more skills are not listed here</note>");
  expect(shown(0)).toContain("a &lt;b&gt; &amp; c");
  expect(shown(0)).not.toContain("load_skill_resource is");
  const big = Object.fromEntries(["a", "b", "c"].map((id) => [id, { description: "z".repeat(7 * 1024), instructions: "i" }]));
  const second = open({ sources: [skillRecords(big)] }, [DONE]);
  await second.run();
  expect(second.shown(0)).toContain("<note>1 more skills are not listed here</note>");
});

test("extensions 53: a skill outside `allowlist` is neither listed nor activatable; `[]` is none", async () => {
  const records = skillRecords({ yes: { description: "d", instructions: "i" }, no: { description: "d", instructions: "i" } });
  const turns = [
    toolCalls([
      { name: "skill", input: { skill: "no" } },
      { name: "skill", input: { skill: "yes" } },
    ]),
    DONE,
  ];
  const { run, shown } = open({ sources: [records] }, turns, {}, { allowlist: ["yes"] });
  const { ends } = await run();
  expect(shown(0)).toContain("<name>yes</name>");
  expect(shown(0)).not.toContain("<name>no</name>");
  expect(ends.map(({ code, message }) => code ?? message).sort()).toEqual(["Launching skill: yes", "unknown_skill"]);
  const none = open({ sources: [records] }, [DONE], {}, { ids: [] });
  await none.run();
  expect(none.shown(0)).not.toContain("available_skills");
});

test("extensions 54: `disable-model-invocation` hides the skill and makes `skill` fail with `model_invocation_disabled`", async () => {
  const { root } = folderOf({ "quiet/SKILL.md": skillMd("quiet", "disable-model-invocation: true\n"), "loud/SKILL.md": skillMd("loud") });
  const show = definePlugin({
    id: "show",
    register: (r) => r.hook("runStart", () => command().update(skillVisibility, { type: "show-batch", skillIds: ["quiet", "loud"] })),
  });
  const [discovery, active] = skills({ folders: [root] });
  const { run, shown } = open({}, [toolCall("skill", { skill: "quiet" }), DONE], {
    plugins: [discovery, active, show],
    agents: { assistant: { model: "fast", plugins: [discovery.id, active.id, "show"] } },
  });
  const { ends } = await run();
  expect(shown(0)).toContain("<name>loud</name>");
  expect(shown(0)).not.toContain("quiet");
  expect(ends).toMatchObject([{ outcome: "failed", code: "model_invocation_disabled" }]);
});

test("visibility: a hidden skill is not listed", async () => {
  const [discovery, active] = skills({
    sources: [skillRecords({ a: { description: "d", instructions: "i" }, b: { description: "d", instructions: "i" } })],
  });
  const hide = definePlugin({
    id: "hide",
    register: (r) => r.hook("runStart", () => command().update(skillVisibility, { type: "hide", skillId: "a" })),
  });
  const { run, shown } = open({}, [DONE], {
    plugins: [discovery, active, hide],
    agents: { assistant: { model: "fast", plugins: [discovery.id, active.id, "hide"] } },
  });
  await run();
  expect([shown(0).includes("<name>a</name>"), shown(0).includes("<name>b</name>")]).toEqual([false, true]);
});

test("extensions 55: two skills activated in the same step are both active, and stay so for the run and no longer", async () => {
  const { root } = folderOf({ "one/SKILL.md": skillMd("one", "", "First ${x}."), "two/SKILL.md": skillMd("two", "", "Second.") });
  const both = toolCalls([
    { name: "skill", input: { skill: "two" } },
    { name: "skill", input: { skill: "one", arguments: { x: "thing" } } },
  ]);
  const { run, shown, model } = open({ folders: [root] }, [
    both,
    toolCall("skill", { skill: "one", arguments: { x: "other" } }),
    DONE,
    DONE,
  ]);
  const { ends } = await run();
  expect(ends.slice(0, 2).map(({ data }) => data)).toEqual([
    { activated: true, skill_id: "two" },
    { activated: true, skill_id: "one" },
  ]);
  expect(shown(1)).toMatch(/skill_instruction skill=\\"one\\">\\nFirst thing\..*skill_instruction skill=\\"two\\">\\nSecond\./);
  expect(shown(2)).toContain("First other.");
  expect(shown(2)).not.toContain("First thing.");
  await run();
  expect(shown(3)).not.toContain("active_skill_instructions");
  expect(model.requests[0]?.tools.map(({ id }) => id)).toEqual(["load_skill_resource", "skill"]);
});

test("extensions 56: editing a skill's text deactivates it in running threads at the next inference", async () => {
  const { root, write } = folderOf({ "one/SKILL.md": skillMd("one", "", "Old text.") });
  const edit = defineTool({
    id: "edit",
    description: "",
    input: z.object({}),
    execute: () => {
      write("one/SKILL.md", skillMd("one", "", "New and longer text."));
      return "edited";
    },
  });
  const turns = [toolCall("skill", { skill: "one" }), toolCall("edit", {}), toolCall("skill", { skill: "one" }), DONE];
  const { run, shown, log, runtime } = open({ folders: [root] }, turns, { tools: [edit] });
  await runtime.initialize();
  await run();
  expect(shown(1)).toContain("Old text.");
  expect(shown(2)).not.toContain("active_skill_instructions");
  expect(log).toEqual(["skill 'one' was changed or is gone: it is not active any more"]);
  expect(shown(3)).toContain("New and longer text.");
});

describe("extensions 57: `load_skill_resource`", () => {
  test("gives text of references and base64 of assets; `../` or a link that leaves the root gives `path_escapes_root`", async () => {
    const outside = folderOf({ "secret.txt": "secret" });
    const { root } = folderOf({
      "s/SKILL.md": skillMd("s"),
      "s/references/guide.md": "Read me",
      "s/references/big.md": "x".repeat(257 * 1024),
      "s/references/bytes.md": Buffer.from([0xff, 0xfe, 0x00]),
      "s/assets/logo.bin": Buffer.from([1, 2, 3]),
      "t/SKILL.md": skillMd("t"),
      "t/references/private.md": "of another skill",
    });
    symlinkSync(join(outside.root, "secret.txt"), join(root, "s/references/link.md"));
    symlinkSync(outside.root, join(root, "s/assets/out"));
    const paths = [
      "references/guide.md",
      "assets/logo.bin",
      "../t/references/private.md",
      "references/../../t/references/private.md",
      "references/link.md",
      "assets/out/secret.txt",
      "/etc/passwd",
      "references/../SKILL.md",
      "references/none.md",
      "references/big.md",
      "references/bytes.md",
      "",
    ];
    const { run } = open({ folders: [root] }, [...paths.map((path) => toolCall("load_skill_resource", { skill: "s", path })), DONE], {
      agents: { assistant: { model: "fast", plugins: ["skills-discovery"], maxSteps: 20 } },
    });
    const { ends } = await run();
    expect(ends.map(({ code, message }) => code ?? message)).toEqual([
      "Read me",
      "AQID",
      "path_escapes_root",
      "path_escapes_root",
      "path_escapes_root",
      "path_escapes_root",
      "path_escapes_root",
      "unsupported_path",
      "io_error",
      "io_error",
      "io_error",
      "invalid_path",
    ]);
    expect(JSON.stringify(ends)).not.toContain('secret"');
  });
});

describe("extensions 58: scripts", () => {
  test("run in their folder with a small environment; a failure is a result; output is cut at 32 KiB; none without leave", async () => {
    process.env["AWAKEN_TEST_KEY"] = "sk-secret";
    const { root } = folderOf({
      "s/SKILL.md": skillMd("s"),
      "s/scripts/env.js": "console.log(JSON.stringify({ env: process.env, cwd: process.cwd(), args: process.argv.slice(2) }))",
      "s/scripts/fails.sh": "echo out; echo err >&2; exit 3",
      "s/scripts/loud.js": "process.stdout.write('x'.repeat(100000))",
      "s/scripts/tool.rb": "puts 1",
      "s/references/not.js": "1",
    });
    const call = (script: string, args: string[] = []) => toolCall("skill_script", { skill: "s", script, args });
    const turns = [
      call("scripts/env.js", ["a b", "$HOME"]),
      call("scripts/fails.sh"),
      call("scripts/loud.js"),
      call("scripts/tool.rb"),
      call("references/not.js"),
      call("scripts/../../x.sh"),
      call(
        "scripts/env.js",
        Array.from({ length: 65 }, () => "x"),
      ),
      DONE,
    ];
    const agents = { assistant: { model: "fast", plugins: ["skills-discovery"], maxSteps: 20 } };
    const { run, shown } = open({ folders: [root], scripts: true }, turns, { agents });
    const { ends } = await run();
    Reflect.deleteProperty(process.env, "AWAKEN_TEST_KEY");
    expect(shown(0)).toContain("skill_script");
    const [env, fails, loud] = ends.map(({ data }) => (typeof data === "object" && data !== null ? data : {}));
    expect(env).toMatchObject({ ok: true, exit_code: 0, stderr: "" });
    const seen: { env: Record<string, string>; cwd: string; args: string[] } = JSON.parse(String(env?.["stdout"]));
    expect(seen.args).toEqual(["a b", "$HOME"]);
    expect(seen.env["SKILL_DIR"]).toBe(seen.cwd);
    expect(Object.keys(seen.env).filter((name) => !["PATH", "HOME", "LANG", "SKILL_DIR"].includes(name) && !name.startsWith("__"))).toEqual(
      [],
    );
    expect(fails).toMatchObject({ ok: false, exit_code: 3, stdout: "out\n", stderr: "err\n" });
    expect(loud).toMatchObject({ ok: true, stdout_truncated: true, stderr_truncated: false });
    expect(String(loud?.["stdout"])).toHaveLength(32 * 1024);
    expect(ends.slice(3).map(({ code }) => code)).toEqual([
      "unsupported_runtime",
      "unsupported_path",
      "path_escapes_root",
      "invalid_arguments",
    ]);
    const without = open({ folders: [root] }, [call("scripts/env.js"), DONE], { agents });
    expect((await without.run()).ends).toMatchObject([{ outcome: "failed", code: "not_found" }]);
    expect(without.shown(0)).not.toContain("skill_script");
  });

  test("that exceed 60 s are killed with their children and report `script_timeout`", async () => {
    const clock = fakeClock(0);
    const { root } = folderOf({
      "s/SKILL.md": skillMd("s"),
      "s/scripts/slow.sh": 'sleep 600 & echo "$!" > "$SKILL_DIR/pid"; wait',
    });
    const { run } = open({ folders: [root], scripts: true }, [toolCall("skill_script", { skill: "s", script: "scripts/slow.sh" }), DONE], {
      clock,
    });
    const running = run();
    const { readFileSync } = await import("node:fs");
    const pid = await vi.waitFor(() => {
      const found = Number(readFileSync(join(root, "s/pid"), "utf8"));
      expect(found).toBeGreaterThan(1);
      return found;
    }, 10_000);
    await clock.advance(60_000);
    expect((await running).ends).toMatchObject([{ outcome: "failed", code: "script_timeout" }]);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), 5_000);
  });
});

test("extensions 59: a missing required argument fails; an undeclared one fails when arguments are declared", async () => {
  const declared = "arguments:\n  - name: city\n    description: Where\n    required: true\n  - name: unit\n";
  const { root } = folderOf({
    "strict/SKILL.md": skillMd("strict", declared, "Weather in ${city} as ${unit}; ${other} stays."),
    "loose/SKILL.md": skillMd("loose", "", "Say ${word} and ${none}."),
  });
  const call = (skill: string, args?: object) => toolCall("skill", { skill, ...(args === undefined ? {} : { arguments: { ...args } }) });
  const turns = [
    call("strict"),
    call("strict", { city: null }),
    call("strict", { city: "Oslo", extra: 1 }),
    call("strict", { city: { name: "Oslo" } }),
    toolCall("skill", { skill: "strict", arguments: "Oslo" }),
    call("strict", { city: "Oslo" }),
    call("loose", { word: 5 }),
    DONE,
  ];
  const agents = { assistant: { model: "fast", plugins: ["skills-discovery", "skills-active-instructions"], maxSteps: 20 } };
  const { run, shown } = open({ folders: [root] }, turns, { agents });
  const { ends } = await run();
  expect(ends.slice(0, 5).map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => "invalid_arguments"));
  expect(ends[0]?.message).toBe("argument 'city' is required");
  expect(ends[2]?.message).toBe("argument 'extra' is not declared; there are: city, unit");
  expect(shown(7)).toContain("Weather in Oslo as ; ${other} stays.");
  expect(shown(7)).toContain("Say 5 and ${none}.");
});

test("extensions 24: a skill grant turns ask into allow for that run only and cannot override a deny", async () => {
  const { root } = folderOf({
    "s/SKILL.md": skillMd("s", 'allowed-tools: read_* Bash(command ~ "git *") forbidden ((broken\n'),
  });
  const tool = (id: string) => defineTool({ id, description: "", input: z.looseObject({}), execute: () => id });
  const [discovery, active] = skills({ folders: [root] });
  const rules = [
    { tool: "skill", behavior: "allow" as const },
    { tool: "forbidden", behavior: "deny" as const },
  ];
  const turns = [
    toolCall("skill", { skill: "s" }),
    toolCalls([
      { name: "read_file", input: {} },
      { name: "Bash", input: { command: "git status" } },
      { name: "forbidden", input: {} },
      { name: "Bash", input: { command: "rm -rf /" } },
    ]),
  ];
  const { run, log, runtime } = open({}, [...turns, toolCall("read_file", {})], {
    plugins: [discovery, active, permission()],
    agents: { assistant: { model: "fast", plugins: [discovery.id, active.id, "permission"], sections: { permission: { rules } } } },
    tools: ["read_file", "Bash", "forbidden"].map(tool),
  });
  await runtime.initialize();
  const { ends, result } = await run();
  expect(ends.map(({ outcome, data, code }) => code ?? (outcome === "succeeded" ? data : outcome))).toEqual(
    expect.arrayContaining(["read_file", "Bash", "denied"]),
  );
  expect(result.status).toBe("waiting");
  if (result.status === "waiting") expect(result.tickets.map(({ input }) => input)).toEqual([{ command: "rm -rf /" }]);
  expect(log.some((line) => line.startsWith("skill 's' cannot be granted"))).toBe(true);
  const other = await runtime.run({ agent: "assistant", thread: "t2", input: "go" });
  expect(other.status).toBe("waiting");
});

test("an active skill shows the tools that it names, where tools are hidden until they are searched for", async () => {
  const { root } = folderOf({ "s/SKILL.md": skillMd("s", "allowed-tools: hidden_one nothing\n") });
  const tool = (id: string) => defineTool({ id, description: id, input: z.object({}), execute: () => id });
  const [discovery, active] = skills({ folders: [root] });
  const { run, model } = open({}, [toolCall("skill", { skill: "s" }), DONE], {
    plugins: [discovery, active, deferredTools()],
    tools: [tool("hidden_one"), tool("hidden_two")],
    agents: {
      assistant: {
        model: "fast",
        plugins: [discovery.id, active.id, "deferred-tools"],
        sections: { "deferred-tools": { enabled: true, rules: [{ tool: "*skill*", mode: "eager" }] } },
      },
    },
  });
  await run();
  const offered = model.requests.map(({ tools }) => tools.map(({ id }) => id).filter((id) => id.startsWith("hidden")));
  expect(offered).toEqual([[], ["hidden_one"]]);
});

describe("prompts of MCP servers as skills", () => {
  test("are listed, take a plain text for their one argument, and read resources as references", async () => {
    const mcp = openMcp({ servers: { all: npmServer("everything", "stdio") } }, []);
    const [discovery, active] = skills({ sources: [mcpSkills(mcp.plugin)] });
    const resource = "demo://resource/static/document/architecture.md";
    const turns = [
      toolCall("skill", { skill: "mcp:all:args-prompt", arguments: { city: "Oslo" } }),
      toolCall("skill", { skill: "mcp:all:args-prompt", arguments: { nothing: 1 } }),
      toolCall("load_skill_resource", { skill: "mcp:all:simple-prompt", path: `references/${resource}` }),
      DONE,
    ];
    const { run, shown } = open({}, turns, {
      plugins: [mcp.plugin, discovery, active],
      agents: { assistant: { model: "fast", plugins: ["mcp", discovery.id, active.id] } },
    });
    const { ends } = await run();
    expect(shown(0)).toContain("<name>mcp:all:args-prompt");
    expect(shown(1)).toContain("Oslo");
    expect(ends.map(({ outcome, code }) => code ?? outcome)).toEqual(["succeeded", "invalid_arguments", "succeeded"]);
  });
});

test("MCP prompts: a server that fails or hangs costs the others nothing, and keeps what it had while it comes back", async () => {
  const prompt = (name: string) => ({ name, title: undefined, description: name, arguments: [] });
  const never = new Promise<never>(() => {});
  const states = new Map<string, McpState>([
    ["a", "connected"],
    ["b", "connected"],
  ]);
  const lists = new Map<string, () => Promise<readonly McpPrompt[]>>([
    ["a", async () => [prompt("one")]],
    ["b", () => Promise.reject(new Error("no wire"))],
  ]);
  const blank = mcp({ servers: { x: { command: "x" } } }).servers.status();
  const status = () => [...states].flatMap(([id, state]) => blank.map((each) => ({ ...each, id, state })));
  const listPrompts = (id: string) => lists.get(id)?.() ?? never;
  const source = mcpSkills({ servers: { status, listPrompts, getPrompt: () => never, readResource: () => never } });
  const listed = async (now: number) => {
    const { skills: found, warnings } = await source.list(now);
    return { ids: found.map(({ id }) => id), warnings };
  };
  const warning = "the prompts of MCP server 'b' cannot be listed, those known before stay: no wire";
  expect(await listed(0)).toEqual({ ids: ["mcp:a:one"], warnings: [warning] });
  lists.set("b", async () => [prompt("two")]);
  lists.set("a", () => never);
  // Both are asked again, and nobody waits for either.
  await listed(30_000);
  expect(await listed(30_001)).toEqual({ ids: ["mcp:a:one", "mcp:b:two"], warnings: [] });
  states.set("a", "reconnecting");
  expect((await listed(90_000)).ids).toEqual(["mcp:a:one", "mcp:b:two"]);
  states.set("a", "permanently_failed");
  expect((await listed(90_001)).ids).toEqual(["mcp:b:two"]);
});

test("folders: one that is not there, or cannot be read, costs the others nothing, and keeps what it had", async () => {
  const [one, two] = [folderOf({ "a/SKILL.md": skillMd("a") }), folderOf({ "b/SKILL.md": skillMd("b") })];
  const source = skillFolders(join(one.root, "nowhere"), `${one.root}/`, two.root);
  const first = await source.list(0);
  expect(first.skills.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(first.warnings).toEqual([expect.stringContaining("nowhere cannot be listed, those known before stay: ENOENT")]);
  renameSync(one.root, `${one.root}-away`);
  const second = await source.list(0);
  renameSync(`${one.root}-away`, one.root);
  expect(second.skills.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(second.warnings).toHaveLength(2);
});

test("a source that fails keeps what it had, with one warning", async () => {
  let isBroken = false;
  const records = skillRecords({ a: { description: "d", instructions: "Do a." } });
  const flaky = {
    name: "flaky",
    list: async (now: number) => {
      if (isBroken) throw new Error("no wire");
      return records.list(now);
    },
  };
  const { run, shown, log, runtime } = open({ sources: [flaky] }, [DONE, toolCall("skill", { skill: "a" }), DONE]);
  await runtime.initialize();
  await run();
  isBroken = true;
  await run("t2");
  expect(shown(1)).toContain("<name>a</name>");
  expect(shown(2)).toContain("Do a.");
  expect(log).toEqual(["the skills of flaky cannot be listed, those known before stay: no wire"]);
});

test("a record that is wrong is refused when it is made", () => {
  expect(() => skillRecords({ x: { description: "", instructions: "i" } })).toThrow("skill 'x'");
  expect(() => skillRecords({ x: { description: "d", instructions: "i", allowedTools: ["Bash(rm *)"] } })).toThrow("grants whole tools");
});
