import { basename, join } from "node:path";
import { nodeProblem } from "../../node-version.ts";
import { askedStore, DEFAULT_STORE, type StoreChoice } from "../choose-store.ts";
import { typedHint } from "../command-name.ts";
import { checkStore } from "../doctor/check-store.ts";
import { checkVendors } from "../doctor/check-vendors.ts";
import { type Finding, fail, ok } from "../doctor/finding.ts";
import { EXIT } from "../exit-codes.ts";
import { explainError } from "../explain-error.ts";
import { findConfig } from "../find-config.ts";
import {
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  openProjectStore,
  openRecords,
  openRuntime,
  type ProjectStore,
} from "../load-project.ts";
import { Output } from "../output.ts";
import type { ProjectOptions, Shell } from "../shell.ts";
import { ownVersion } from "../version.ts";

export interface DoctorOptions extends ProjectOptions {
  readonly json?: boolean;
}

function failure(subject: string, thrown: unknown): Finding {
  const { message, fix } = explainError(thrown);
  return fail(subject, message, fix ?? "correct it, and run `awaken doctor` again");
}

function checkVersions(): readonly Finding[] {
  const { node } = process.versions;
  const problem = nodeProblem(node);
  return [
    problem === undefined ? ok("node", `Node ${node}`) : fail("node", problem, "install a newer Node from https://nodejs.org"),
    ok("awaken", `version ${ownVersion()}`),
  ];
}

type Loaded = { readonly findings: readonly Finding[]; readonly loaded: LoadedConfig | undefined };

async function checkConfigFile(options: LoadOptions): Promise<Loaded> {
  try {
    const file = findConfig(options);
    try {
      const loaded = await loadConfig(options);
      return { findings: [ok("config", `${file} loads`)], loaded };
    } catch (thrown) {
      return { findings: [ok("config", `${file} is there`), failure("config", thrown)], loaded: undefined };
    }
  } catch (thrown) {
    return { findings: [failure("config", thrown)], loaded: undefined };
  }
}

/** Whether every agent finds its model, tools and plugins. */
async function checkAgents(loaded: LoadedConfig, opened: ProjectStore): Promise<Finding> {
  try {
    await openRuntime(loaded, opened.store);
    return ok("agents", `all of them resolve: ${Object.keys(loaded.config.agents).join(", ")}`);
  } catch (thrown) {
    return failure("agents", thrown);
  }
}

function choiceOf(options: LoadOptions, loaded: LoadedConfig | undefined): StoreChoice | undefined {
  const asked = askedStore(options);
  if (asked !== undefined || loaded === undefined || loaded.config.store !== undefined) return asked;
  return { type: "sqlite", file: join(loaded.root, DEFAULT_STORE) };
}

/** The store that commands would use; without a config only one that is asked for by name. */
async function checkProjectStore(options: LoadOptions, loaded: LoadedConfig | undefined): Promise<readonly Finding[]> {
  try {
    const choice = choiceOf(options, loaded);
    if (loaded === undefined && choice === undefined) return [];
    await using opened = loaded === undefined ? await openRecords(options) : await openProjectStore(options, loaded);
    const agents = loaded === undefined ? [] : [await checkAgents(loaded, opened)];
    return [...agents, ...(await checkStore(opened, choice, options))];
  } catch (thrown) {
    return [failure("store", thrown)];
  }
}

const MARKS = { ok: ["ok  ", "green"], warn: ["warn", "yellow"], fail: ["fail", "red"] } as const;

function print(out: Output, finding: Finding): void {
  const [mark, style] = MARKS[finding.level];
  out.line(`${mark}  ${finding.subject.padEnd(6)}  ${finding.text}`, finding.level === "ok" ? "reset" : style);
  if (finding.level !== "ok") out.line(`              fix: ${finding.fix}`);
}

/** One missing package is one finding. */
const isSameFix = (a: Finding, b: Finding): boolean => a.level !== "ok" && b.level !== "ok" && a.fix === b.fix;

/** Without secrets, and with commands as they are typed here. */
function readable(finding: Finding, shell: Shell, options: DoctorOptions): Finding {
  const text = shell.redact(finding.text);
  return finding.level === "ok" ? { ...finding, text } : { ...finding, text, fix: typedHint(finding.fix, options) };
}

/** Looks at everything that a run needs. */
export async function doctor(shell: Shell, given: DoctorOptions): Promise<number> {
  const options = { ...given, cwd: shell.cwd, env: shell.env };
  const { findings, loaded } = await checkConfigFile(options);
  const all = [
    ...checkVersions(),
    ...findings,
    ...checkVendors(shell.env, loaded?.root ?? shell.cwd).filter((vendor) => !findings.some((found) => isSameFix(found, vendor))),
    ...(await checkProjectStore(options, loaded)),
  ].map((finding) => readable(finding, shell, given));
  const out = new Output(shell);
  const failed = all.filter(({ level }) => level === "fail").length;
  if (given.json === true)
    out.json({ type: "doctor", failed, findings: all, ...(loaded === undefined ? {} : { config: basename(loaded.file) }) });
  else for (const finding of all) print(out, finding);
  return failed > 0 ? EXIT.failed : EXIT.ok;
}
