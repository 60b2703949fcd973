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

/** Decides by the head of a request who asks. */
export class Gatekeeper {
  readonly #init: GatekeeperInit;
  #adminHash: Promise<string> | undefined;

  constructor(init: GatekeeperInit) {
    this.#init = init;
  }

  async admit(gate: RouteGate, head: RequestHead): Promise<Admitted> {
    if (gate === "open") return { scopeId: "default", isAdmin: false };
    const admin = await this.#admin(head);
    if (admin !== undefined) return admin;
    if (gate === "admin") throw unauthorized();
    const caller = await this.#caller(head);
    if (caller === undefined) throw unauthorized();
    return { ...caller, isAdmin: false };
  }

  async #admin({ headers }: RequestHead): Promise<Admitted | undefined> {
    const { admin } = this.#init;
    if (admin === undefined) return undefined;
    const token = bearerOf(headers);
    if (token === undefined) return undefined;
    this.#adminHash ??= sha256(admin.token);
    if (!isSameHash(await this.#adminHash, await sha256(token))) return undefined;
    return { scopeId: scopeId(admin.scopeId ?? "default"), isAdmin: true };
  }

  async #caller(head: RequestHead): Promise<Caller | undefined> {
    const { access, log } = this.#init;
    try {
      const caller = await access?.(head);
      return caller === undefined ? undefined : { ...caller, scopeId: scopeId(caller.scopeId) };
    } catch (thrown) {
      log.error(`the access function of the server failed: ${errorMessage(thrown)}`);
      return undefined;
    }
  }
}
