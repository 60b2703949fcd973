import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript-6.0";
import type { Finding } from "./source-files.ts";

// Lists what a user meets through the facade and has no line of documentation: every member of every exported type, and of every
// type of ours that one of them leads to. TypeScript 7 has no interface for programs yet, so this one asks TypeScript 6.

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly "awaken-source"?: string }>>;
}

/** The tags of unions say what they are by their values. */
const TAGS = new Set(["type", "role", "status", "phase", "name", "kind", "action"]);

/** What a user hands on and does not look into. Whoever writes a store, a backend or a driver reads these sources. */
const BEHIND = [
  "packages/contract/src/schema.ts",
  "packages/contract/src/state.ts",
  "packages/contract/src/store/",
  "packages/contract/src/schema/",
  "packages/contract/src/secret.ts",
  "packages/runtime/src/loop/",
  "packages/runtime/src/plugin/env.ts",
  "packages/runtime/src/registry/registry-set.ts",
  "packages/runtime/src/registry/registry-snapshot.ts",
  "packages/runtime/src/resolve/",
  "packages/runtime/src/run/start-request.ts",
  "packages/runtime/src/state/batch.ts",
  "packages/runtime/src/stream/bounds.ts",
  "packages/runtime/src/stream/event-stream.ts",
  "packages/server/src/routes/",
  "packages/stores/src/postgres/driver.ts",
];

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  customConditions: ["awaken-source"],
  strict: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

const isBehind = (file: string): boolean => BEHIND.some((prefix) => file.startsWith(prefix));

const isIndexed = (type: ts.Type): type is ts.IndexedAccessType => (type.flags & ts.TypeFlags.IndexedAccess) !== 0;
const isReference = (type: ts.Type): type is ts.TypeReference => (type.flags & ts.TypeFlags.Object) !== 0 && "target" in type;

/** Private fields, and members that only a symbol names. */
function isHidden({ name, valueDeclaration }: ts.Symbol): boolean {
  if (name.startsWith("__@")) return true;
  if (valueDeclaration === undefined) return false;
  const declared = ts.getNameOfDeclaration(valueDeclaration);
  const isPrivate = (ts.getCombinedModifierFlags(valueDeclaration) & ts.ModifierFlags.NonPublicAccessibilityModifier) !== 0;
  return isPrivate || (declared !== undefined && ts.isPrivateIdentifier(declared));
}

class HoverScan {
  readonly #checker: ts.TypeChecker;
  readonly #root: string;
  readonly #seen = new Set<ts.Type>();
  readonly #findings = new Map<string, Finding>();
  count = 0;

  constructor(checker: ts.TypeChecker, root: string) {
    this.#checker = checker;
    this.#root = root;
  }

  get findings(): Finding[] {
    return [...this.#findings.values()].sort((left, right) => left.file.localeCompare(right.file, "en", { numeric: true }));
  }

  entry(source: ts.SourceFile): void {
    const module = this.#checker.getSymbolAtLocation(source);
    for (const exported of module === undefined ? [] : this.#checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      if (symbol.flags & (ts.SymbolFlags.Type | ts.SymbolFlags.TypeAlias))
        this.#type(this.#checker.getDeclaredTypeOfSymbol(symbol), symbol.name);
      if (symbol.flags & ts.SymbolFlags.Value) {
        this.#documented(symbol, symbol.name);
        this.#type(this.#checker.getTypeOfSymbol(symbol), symbol.name);
      }
    }
  }

  /** Where a symbol stands, when it stands in sources of ours that are published. */
  #place(symbol: ts.Symbol): { readonly file: string; readonly line: number } | undefined {
    const declaration = symbol.declarations?.[0];
    const source = declaration?.getSourceFile();
    if (declaration === undefined || source === undefined) return undefined;
    const file = relative(this.#root, source.fileName);
    if (file.startsWith("..") || file.includes("node_modules")) return undefined;
    return { file, line: source.getLineAndCharacterOfPosition(declaration.getStart()).line + 1 };
  }

  #documented(symbol: ts.Symbol, path: string): void {
    const place = this.#place(symbol);
    if (place === undefined || this.#isTag(symbol)) return;
    this.count++;
    if (symbol.getDocumentationComment(this.#checker).length > 0) return;
    const file = `${place.file}:${place.line}`;
    this.#findings.set(`${file} ${symbol.name}`, { file, message: `${path} has no line of documentation` });
  }

  /** A field with one literal value, by which unions are told apart. */
  #isTag(symbol: ts.Symbol): boolean {
    return TAGS.has(symbol.name) && this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(symbol)).isLiteral();
  }

  #isBehind(type: ts.Type): boolean {
    const symbol = type.aliasSymbol ?? type.getSymbol();
    const file = symbol === undefined ? undefined : this.#place(symbol)?.file;
    return file !== undefined && isBehind(file);
  }

  #type(type: ts.Type, path: string): void {
    if (this.#seen.has(type) || this.#isBehind(type)) return;
    this.#seen.add(type);
    if (type.isUnionOrIntersection()) for (const part of type.types) this.#type(part, path);
    if (isIndexed(type)) this.#type(type.objectType, path);
    const own = isReference(type) ? this.#checker.getTypeArguments(type) : [];
    for (const argument of [...own, ...(type.aliasTypeArguments ?? [])]) this.#type(argument, path);
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) this.#signature(signature, path);
    for (const index of this.#checker.getIndexInfosOfType(type)) this.#type(index.type, `${path}[]`);
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return;
    for (const member of this.#checker.getPropertiesOfType(type)) this.#member(member, path);
  }

  #member(member: ts.Symbol, path: string): void {
    const place = this.#place(member);
    if (place === undefined || isBehind(place.file) || isHidden(member)) return;
    const here = `${path}.${member.name}`;
    this.#documented(member, here);
    this.#type(this.#checker.getTypeOfSymbol(member), here);
  }

  #signature(signature: ts.Signature, path: string): void {
    for (const parameter of signature.getParameters()) this.#type(this.#checker.getTypeOfSymbol(parameter), `${path}(${parameter.name})`);
    this.#type(signature.getReturnType(), `${path}()`);
  }
}

function inspect(root: string): { readonly count: number; readonly findings: Finding[] } {
  const facade = join(root, "packages/awaken");
  const manifest: Manifest = JSON.parse(readFileSync(join(facade, "package.json"), "utf8"));
  const entries = Object.values(manifest.exports).flatMap(({ "awaken-source": source }) =>
    source === undefined ? [] : [join(facade, source)],
  );
  const program = ts.createProgram(entries, OPTIONS);
  const scan = new HoverScan(program.getTypeChecker(), root);
  for (const entry of entries) {
    const source = program.getSourceFile(entry);
    if (source === undefined || !existsSync(entry)) throw new Error(`${entry} is not there`);
    scan.entry(source);
  }
  return { count: scan.count, findings: scan.findings };
}

export const checkHovers = (root: string): Finding[] => inspect(root).findings;

if (import.meta.main) {
  const { count, findings } = inspect(resolve(process.argv[2] ?? dirname(import.meta.dirname)));
  for (const { file, message } of findings) console.log(`${file}: ${message}`);
  if (findings.length === 0) console.log(`hovers: ${count} members, ok`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
