import { join } from "node:path";
import { CONFIG_TEMPLATE } from "./config-template.ts";
import { DEMO_MODEL_TEMPLATE } from "./demo-model-template.ts";

/** What a new project depends on: a range of versions, or the folder of a checkout, so that it can be installed at once. */
export interface OwnPackage {
  readonly version: string;
  readonly checkout: string | undefined;
}

export interface ProjectFile {
  readonly name: string;
  readonly text: string;
}

const README = `# %NAME%

An agent with two tools. It runs without a key: \`demo-model.ts\` answers until a vendor's key is set.

    npm install
    npx awaken chat                                        # talk to it
    npx awaken run "weather in Oslo" --agent assistant     # one question
    npx awaken run "refund order 7 for 120"                # waits for an approval and says how to give it
    npx awaken dev                                         # the same over HTTP, while you change it
    npx awaken serve                                       # the same for production
    npx awaken doctor                                      # is everything there?

A real model: set OPENAI_API_KEY and \`npm install @ai-sdk/openai\`, or ANTHROPIC_API_KEY with \`@ai-sdk/anthropic\`, or
GOOGLE_GENERATIVE_AI_API_KEY with \`@ai-sdk/google\`. AWAKEN_MODEL=openai/gpt-5-mini names the model.

| file | is |
|---|---|
| \`awaken.config.ts\` | the agents, their models and tools |
| \`demo-model.ts\` | the model that needs no key |
| \`awaken.db\` | threads and runs, made by the first run |
`;

/** A checkout is checked as sources, with the options that they are written for; what users have are declarations. */
const sourceOptions = (checkout: string) => ({
  customConditions: ["awaken-source"],
  exactOptionalPropertyTypes: true,
  types: ["node"],
  typeRoots: [join(checkout, "../../node_modules/@types")],
});

const tsconfig = ({ checkout }: OwnPackage) => ({
  compilerOptions: {
    target: "ES2024",
    lib: ["ESNext", "DOM", "DOM.AsyncIterable"],
    module: "NodeNext",
    moduleResolution: "NodeNext",
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    ...(checkout === undefined ? {} : sourceOptions(checkout)),
  },
  include: ["*.ts"],
});

const manifest = (name: string, { version, checkout }: OwnPackage) => ({
  name,
  private: true,
  type: "module",
  engines: { node: ">=24" },
  scripts: { start: "awaken chat", dev: "awaken dev", serve: "awaken serve", check: "tsc" },
  dependencies: { awaken: checkout === undefined ? `^${version}` : `file:${checkout}`, zod: "^4.1.0" },
  // `npx awaken` and npm scripts run on this Node, whatever else is installed.
  devDependencies: { node: "^24.0.0", typescript: ">=5.9" },
  allowScripts: { node: true },
});

const NPMRC = `# npm runs on the Node that you have, the project on the Node 24 that is installed with it: npm's warnings about engines are not true.
loglevel=error
fund=false
`;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** All that a new project consists of. */
export function projectFiles(name: string, awaken: OwnPackage): readonly ProjectFile[] {
  return [
    { name: "package.json", text: json(manifest(name, awaken)) },
    { name: "awaken.config.ts", text: CONFIG_TEMPLATE },
    { name: "demo-model.ts", text: DEMO_MODEL_TEMPLATE },
    { name: "tsconfig.json", text: json(tsconfig(awaken)) },
    { name: ".npmrc", text: NPMRC },
    { name: ".gitignore", text: "node_modules/\n*.db\n*.db-shm\n*.db-wal\n.env\n" },
    { name: "README.md", text: README.replace("%NAME%", name) },
  ];
}
