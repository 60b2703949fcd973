import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkDocs, openFolder } from "./check-docs.ts";
import { missingLine, readBlocks, readRule } from "./doc-blocks.ts";

const ROOT = join(import.meta.dirname, "..");
const FENCE = "```";

/** What a program prints; how it failed, when it did. */
function runNode(cwd: string, args: readonly string[]): string {
  const env = { ...process.env, NODE_OPTIONS: "--conditions=awaken-source" };
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8" });
  return status === 0 && stderr === "" ? stdout.trimEnd() : `exit ${status}: ${stderr}${stdout}`;
}

/** A page as a reader plays it: files are written where they are printed, and commands typed where they stand. */
function playPage(page: string, folder: string): readonly { readonly command: string; readonly printed: string; readonly seen: string }[] {
  const blocks = readBlocks(page, readFileSync(join(ROOT, page), "utf8"));
  return blocks.flatMap((block, index) => {
    const rule = block.language === "ts" ? readRule(page, block) : undefined;
    if (rule?.type === "file") writeFileSync(join(folder, rule.name), `${block.code}\n`);
    const commands = block.language === "sh" ? block.code.split("\n").filter((line) => line.startsWith("node ")) : [];
    const next = blocks[index + 1];
    return commands.map((command) => {
      const seen = runNode(folder, command.split(" ").slice(1));
      return { command, seen, printed: next?.language === "text" ? next.code : seen };
    });
  });
}

/** Pages with commands that a reader types. */
const PLAYED = ["docs/tutorial.md", "docs/durability.md", "docs/testing.md"];

describe("the documents", () => {
  const folders: string[] = [];
  const newFolder = () => {
    const folder = openFolder(ROOT);
    folders.push(folder);
    return folder;
  };
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it("every sample compiles under strict, every printed line is in its program, every link leads somewhere", () => {
    expect(checkDocs(ROOT)).toEqual([]);
  });

  it("finds what is wrong, and where", () => {
    const root = newFolder();
    for (const folder of ["docs/preambles", "examples/api"]) mkdirSync(join(root, folder), { recursive: true });
    const block = (note: string, ...code: readonly string[]) => [`<!-- sample: ${note} -->`, `${FENCE}ts`, ...code, FENCE];
    writeFileSync(join(root, "README.md"), [`${FENCE}ts`, "const a: number = 1;", 'const b: string = "x" + a.c;', FENCE].join("\n"));
    writeFileSync(
      join(root, "docs/page.md"),
      [
        "[nowhere](other.md#part) [there](../README.md) [far](https://example.com/x.md) [here](#a-part-of-it) [gone](#another)",
        "## A `part` of it",
        ...block("preamble=p", "const n: string = given;"),
        ...block("in=examples/api/program.ts", "first();", "second();"),
        "<!-- sample: preamble=p -->",
        `${FENCE}tsx`,
        "const view = <b title={given}>{given}</b>;",
        FENCE,
        ...block("file=one.ts", "export const one = 1;"),
        ...block("file=two.ts", 'import { one } from "./one.ts";', "const text: string = one;"),
      ].join("\n"),
    );
    writeFileSync(join(root, "docs/preambles/p.ts"), "\ndeclare const given: number;\n");
    writeFileSync(join(root, "docs/preambles/p.tsx"), "declare const given: number;\n");
    writeFileSync(join(root, "examples/api/program.ts"), "// @ts-nocheck\nsecond();\nfirst();\n");
    expect(checkDocs(root).map(({ file, message }) => `${file} ${message}`)).toEqual([
      "docs/page.md:9 examples/api/program.ts does not have the line: second();",
      "docs/page.md there is no other.md#part",
      "docs/page.md there is no #another",
      expect.stringMatching(/^README\.md:3 error TS2339/),
      expect.stringMatching(/^examples\/api\/program\.ts:2 error TS2304/),
      expect.stringMatching(/^examples\/api\/program\.ts:3 error TS2304/),
      expect.stringMatching(/^docs\/page\.md:14 error TS2322/),
      expect.stringMatching(/^docs\/page\.md:5 error TS2322/),
      expect.stringMatching(/^docs\/page\.md:23 error TS2322/),
    ]);
  });

  it.each(PLAYED)(
    "%s plays as it is printed",
    (page) => {
      const played = playPage(page, newFolder());
      expect(played).not.toEqual([]);
      for (const { command, printed, seen } of played) {
        expect(`${command}: ${seen}`).toBe(`${command}: ${printed}`);
        expect(seen).not.toMatch(/^exit/);
      }
    },
    120_000,
  );

  it("the first program of the README runs", () => {
    const folder = newFolder();
    const [program] = readBlocks("README.md", readFileSync(join(ROOT, "README.md"), "utf8")).filter(({ language }) => language === "ts");
    writeFileSync(join(folder, "first.ts"), program?.code ?? "");
    expect(runNode(folder, ["first.ts"])).toMatch(/^21 degrees\. \{ inputTokens/);
  });

  it("docs/cli.md has every command and option of `awaken --help`", () => {
    const page = readFileSync(join(ROOT, "docs/cli.md"), "utf8");
    const help = (...args: readonly string[]) => runNode(ROOT, [join(ROOT, "packages/awaken/src/cli/main.ts"), ...args, "--help"]);
    const commands = [...help().matchAll(/^ {2}([a-z]+) \[options\]/gm)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(5);
    for (const command of commands) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`${command}`)) ?? `no row for ${command}`;
      const options = [...help(command).matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = ""]) => name);
      for (const option of options.filter((name) => !["--config", "--store", "--debug"].includes(name))) expect(row).toContain(option);
      expect(row).toContain(`\`${command}`);
    }
  });
});

describe("doc blocks", () => {
  it("gives blocks with their language, line and note", () => {
    const text = ["# Title", "<!-- sample: file=a.ts -->", `${FENCE}ts`, "one;", "two;", FENCE, "", `${FENCE}sh`, "node a.ts", FENCE].join(
      "\n",
    );
    expect(readBlocks("p.md", text)).toEqual([
      { language: "ts", code: "one;\ntwo;", line: 4, note: "file=a.ts" },
      { language: "sh", code: "node a.ts", line: 9, note: undefined },
    ]);
  });

  it("refuses a block that is not closed and a note that stands alone", () => {
    expect(() => readBlocks("p.md", `${FENCE}ts\none;`)).toThrowError("p.md:1: the block is not closed");
    expect(() => readBlocks("p.md", "<!-- sample: file=a.ts -->\n\n```ts\n```")).toThrowError(/right above its block/);
    expect(() => readBlocks("p.md", "<!-- sample: file=a.ts -->")).toThrowError(/right above its block/);
  });

  it("reads rules, and refuses what is none", () => {
    const block = { language: "ts", code: "", line: 3 };
    expect(readRule("p.md", { ...block, note: undefined })).toEqual({ type: "module" });
    expect(readRule("p.md", { ...block, note: "preamble=tools" })).toEqual({ type: "fragment", preamble: "tools" });
    expect(readRule("p.md", { ...block, note: "in=a/b.ts" })).toEqual({ type: "printed", file: "a/b.ts" });
    for (const note of ["file", "file=", "folder=x", "file=a=b"]) {
      expect(() => readRule("p.md", { ...block, note })).toThrowError(/p\.md:3: a sample note is/);
    }
  });

  it("finds a printed line that is missing, changed or out of order", () => {
    const file = "const a = 1;\n  const b = make({ x, y, z: 2 });\nuse({ ...a });";
    expect(missingLine("const a = 1;\nconst b = make({ ..., z: 2 });\nuse({ ...a });", file)).toBeUndefined();
    expect(missingLine("const b = make({ ..., z: 3 });", file)).toBe("const b = make({ ..., z: 3 });");
    expect(missingLine("use({ ...a });\nconst a = 1;", file)).toBe("const a = 1;");
    expect(missingLine("use({ ...b });", file)).toBe("use({ ...b });");
  });
});
