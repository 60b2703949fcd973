import { AwakenError, errorMessage, type JsonValue } from "@awaken/contract";

const toError = (thrown: unknown): AwakenError =>
  AwakenError.is(thrown)
    ? thrown
    : new AwakenError("registry_build_failed", `registry build failed: ${errorMessage(thrown)}`, { cause: thrown });

/** Mistakes that are gathered, so that all of them are told at once. */
export class Problems {
  readonly #errors: AwakenError[] = [];

  get size(): number {
    return this.#errors.length;
  }

  add(...errors: readonly AwakenError[]): void {
    this.#errors.push(...errors);
  }

  /** What the function gives; undefined when it throws, which is then one more problem. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (thrown) {
      this.add(toError(thrown));
      return undefined;
    }
  }

  /** One problem is thrown as it is; several as one error of all their lines, with their code if it is the same one. */
  throwAll(): void {
    const [first, ...others] = this.#errors;
    if (first === undefined) return;
    if (others.length === 0) throw first;
    const isAlike = others.every(({ code }) => code === first.code);
    const problems: readonly JsonValue[] = this.#errors.map((error) => error.toJSON());
    throw new AwakenError(
      isAlike ? first.code : "config_validation_failed",
      `${this.size} problems: ${this.#errors.map(({ message }) => message).join("; ")}`,
      { details: { problems }, cause: first },
    );
  }
}
