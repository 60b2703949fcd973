import { AwakenError, errorMessage, type Log, scopeId } from "@awaken/contract";
import type { RouteGate } from "@awaken/contract/http";
import { type Access, bearerOf, type Caller, isSameHash, type RequestHead, sha256 } from "./access.ts";

export interface GatekeeperInit {
  readonly access: Access | undefined;
  readonly admin: { readonly token: string; readonly scopeId?: string } | undefined;
  readonly log: Log;
}

/** Who was let in, and as what. */
export interface Admitted extends Caller {
  readonly isAdmin: boolean;
}

const unauthorized = () => new AwakenError("unauthorized", "who are you? Send a key as `Authorization: Bearer …`, in one header");

const OPEN: Admitted = { scopeId: "default", isAdmin: false };

/** Decides by the head of a request who asks. */
export class Gatekeeper {
  readonly #init: GatekeeperInit;
  #adminHash: Promise<string> | undefined;

  constructor(init: GatekeeperInit) {
    this.#init = init;
  }

  /** At once where nothing has to be waited for. */
  admit(gate: RouteGate, head: RequestHead): Admitted | Promise<Admitted> {
    if (gate === "open") return OPEN;
    const token = this.#init.admin === undefined ? undefined : bearerOf(head.headers);
    return token === undefined ? this.#admitCaller(gate, head) : this.#admitAdmin(token, gate, head);
  }

  async #admitAdmin(token: string, gate: RouteGate, head: RequestHead): Promise<Admitted> {
    const { admin } = this.#init;
    this.#adminHash ??= sha256(admin?.token ?? "");
    const isAdmin = isSameHash(await this.#adminHash, await sha256(token));
    return isAdmin ? { scopeId: scopeId(admin?.scopeId ?? "default"), isAdmin } : this.#admitCaller(gate, head);
  }

  #admitCaller(gate: RouteGate, head: RequestHead): Admitted | Promise<Admitted> {
    if (gate === "admin") throw unauthorized();
    const caller = this.#ask(head);
    return isLate(caller) ? caller.then(admitted) : admitted(caller);
  }

  /** What an access function throws counts as nobody. */
  #ask(head: RequestHead): Asked {
    try {
      const caller = this.#init.access?.(head);
      return isLate(caller)
        ? Promise.resolve(caller)
            .then(checked)
            .catch((thrown: unknown) => this.#failed(thrown))
        : checked(caller);
    } catch (thrown) {
      return this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): undefined {
    this.#init.log.error(`the access function of the server failed: ${errorMessage(thrown)}`);
  }
}

type Asked = Caller | undefined | Promise<Caller | undefined>;

const isLate = (asked: Asked): asked is Promise<Caller | undefined> => asked !== undefined && "then" in asked;

const checked = (caller: Caller | undefined): Caller | undefined =>
  caller === undefined ? undefined : { ...caller, scopeId: scopeId(caller.scopeId) };

function admitted(caller: Caller | undefined): Admitted {
  if (caller === undefined) throw unauthorized();
  return { ...caller, isAdmin: false };
}
