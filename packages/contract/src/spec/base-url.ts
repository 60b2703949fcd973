import * as s from "../schema/all.ts";

const SCHEME = /^https?:\/\//i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a URL parser drops these silently
const UNSAFE = /[\u0000-\u0020\u007f\\]/;

/** The part between `//` and the path, taken from the text as written: `URL` would quietly repair `https:///path`. */
const authority = (url: string): string => url.replace(SCHEME, "").split(/[/?#]/, 1)[0] ?? "";

/** What is wrong with an http(s) address, as the rest of a sentence. */
export function httpUrlProblem(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (!SCHEME.test(url)) return "must use http:// or https://";
  const host = authority(url);
  if (host === "") return "must have a host";
  if (host.includes("@")) return "must not contain credentials";
  if (UNSAFE.test(url) || !URL.canParse(url)) return "must be a valid URL";
  return undefined;
}

/** What is wrong with an address that paths are appended to. */
export function baseUrlProblem(url: string): string | undefined {
  const problem = httpUrlProblem(url);
  if (problem !== undefined) return problem;
  if (url.includes("#")) return "must not contain a fragment";
  if (url.includes("?")) return "must not contain a query string";
  return undefined;
}

/** An address that is checked by one of the two; spaces around it are dropped. */
export const urlField = (name: string, problemOf: (url: string) => string | undefined) =>
  s.string().check(
    s.trim(),
    s.rule((url, report) => {
      const problem = problemOf(url);
      if (problem !== undefined) report(s.message(`${name} ${problem}`));
    }),
    s.meta({ format: "uri" }),
  );
