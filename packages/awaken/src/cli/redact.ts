const SECRET_NAME = /key|token|secret|passw|credential/i;
const LOGIN_IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
const PASSWORD_PARAMETER = /([?&](?:password|token|key|secret)=)[^\s&"']+/gi;
/** Shorter ones are words like any other; replacing them would only garble texts. */
const MIN_LENGTH = 8;
const MASK = "***";

function passwordOf(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { password } = new URL(text);
  return password === "" ? [] : [password, decodeSafely(password)];
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes what the environment and the command line hold of secrets out of a text, and the logins of all URLs. */
export function createRedactor(env: Readonly<Record<string, string | undefined>>, argv: readonly string[]): (text: string) => string {
  const named = Object.entries(env).flatMap(([name, value = ""]) => (SECRET_NAME.test(name) ? [value, value.trim()] : []));
  const logins = [...Object.values(env), ...argv].flatMap((value = "") => passwordOf(value.replace(/^--store=/, "")));
  const keys = argv.flatMap((word, at) => (word.startsWith("--key=") ? [word.slice(6)] : argv[at - 1] === "--key" ? [word] : []));
  const secrets = [...new Set([...named, ...logins, ...keys])]
    .filter((secret) => secret.length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);
  return (text) =>
    secrets
      .reduce((clean, secret) => clean.replaceAll(secret, MASK), text)
      .replace(LOGIN_IN_URL, `$1${MASK}@`)
      .replace(PASSWORD_PARAMETER, `$1${MASK}`);
}
