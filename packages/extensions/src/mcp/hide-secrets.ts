import { Secret } from "@awaken/contract";
import type { McpServerSpec } from "@awaken/contract/spec";

/** What is shorter is a switch, not a secret, and would be found in any text. */
const MIN_LENGTH = 6;

/** Puts a mask where a text repeats what the server was given in its environment or headers: programs quote what they cannot use. */
export function secretsHidden(spec: McpServerSpec): (text: string) => string {
  const given = Object.values(spec.type === "stdio" ? spec.env : spec.headers);
  const secrets = given
    .flatMap((secret) => [secret.reveal(), secret.reveal().replace(/^\w+ /, "")])
    .filter(({ length }) => length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, Secret.MASK), text);
}
