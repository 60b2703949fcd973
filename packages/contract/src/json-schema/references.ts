import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** Where refs of a schema without an id are resolved. */
const ROOT = "schema://document/";

/** They hold data, not schemas. */
const DATA = new Set(["enum", "const", "default", "examples"]);

/** They hold schemas by names of the author's, and a name may be that of a keyword. */
const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);

function resolved(ref: string, base: string): string {
  try {
    return new URL(ref, base).href;
  } catch {
    return ref;
  }
}

const withoutFragment = (uri: string): string => uri.replace(/#.*$/s, "");

function readToken(token: string): string {
  try {
    return decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return token;
  }
}

function follow(document: JsonValue, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = document;
  for (const token of pointer.split("/").slice(1).map(readToken)) {
    if (Array.isArray(at)) at = at[Number(token)];
    else if (isJsonObject(at) && Object.hasOwn(at, token)) at = at[token];
    else return undefined;
  }
  return at;
}

/** What the `$ref`s of one schema lead to. All of it is in the schema itself: nothing is fetched. */
export class References {
  readonly #bases = new Map<JsonObject, string>();
  readonly #documents = new Map<string, JsonValue>();
  readonly #anchors = new Map<string, JsonValue>();
  readonly #resolved = new Map<JsonObject, Map<string, JsonValue | undefined>>();
  /** Unevaluated properties or items are asked for somewhere: then it is kept what was looked at. */
  hasUnevaluated = false;

  constructor(schema: JsonValue) {
    this.#documents.set(ROOT, schema);
    this.#index(schema, ROOT, 0);
  }

  /** Undefined when the ref leads nowhere. */
  resolve(from: JsonObject, ref: string): JsonValue | undefined {
    const known = this.#resolved.get(from) ?? new Map<string, JsonValue | undefined>();
    this.#resolved.set(from, known);
    if (!known.has(ref)) known.set(ref, this.#find(from, ref));
    return known.get(ref);
  }

  #find(from: JsonObject, ref: string): JsonValue | undefined {
    const uri = resolved(ref, this.#bases.get(from) ?? ROOT);
    const document = this.#documents.get(withoutFragment(uri));
    const fragment = uri.includes("#") ? uri.slice(uri.indexOf("#") + 1) : "";
    if (fragment === "") return document;
    if (!fragment.startsWith("/")) return this.#anchors.get(uri);
    return document === undefined ? undefined : follow(document, fragment);
  }

  #index(node: JsonValue, base: string, depth: number): void {
    if (depth > 512) return;
    if (Array.isArray(node)) {
      for (const item of node) this.#index(item, base, depth + 1);
      return;
    }
    if (!isJsonObject(node) || this.#bases.has(node)) return;
    const own = this.#name(node, base);
    this.#bases.set(node, own);
    this.hasUnevaluated ||= "unevaluatedProperties" in node || "unevaluatedItems" in node;
    for (const [key, value] of Object.entries(node)) {
      if (NAMED.has(key) && isJsonObject(value)) for (const one of Object.values(value)) this.#index(one, own, depth + 1);
      else if (!DATA.has(key)) this.#index(value, own, depth + 1);
    }
  }

  #name(node: JsonObject, base: string): string {
    const { $id, $anchor, $dynamicAnchor } = node;
    const own = typeof $id === "string" ? resolved($id, base) : base;
    if (typeof $id === "string") (own.includes("#") ? this.#anchors : this.#documents).set(own.replace(/#$/, ""), node);
    const place = withoutFragment(own);
    for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === "string") this.#anchors.set(`${place}#${anchor}`, node);
    return place;
  }
}
