/** What programs need to start at all; keys and tokens of ours are not among it. */
const NAMES =
  process.platform === "win32"
    ? ["PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"]
    : ["PATH", "HOME", "LANG", "TMPDIR"];

/** The environment of a program that we start: the least, and what it is given. */
export function childEnv(given: { readonly [name: string]: string }): Record<string, string> {
  const own = NAMES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(own), ...given };
}
