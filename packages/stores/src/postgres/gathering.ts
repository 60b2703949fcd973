export interface GatheringInit<M> {
  /** How many connections may be at work for it at once. */
  readonly lanes: number;
  /**
   * Takes as many as fit out of those that wait, when it has what it needs for them, and settles each. Never rejects. It may leave its lane
   * before it is over.
   */
  readonly work: (waiting: M[], hasTaken: () => void, leave: () => void) => Promise<void>;
}

/**
 * Work that is cheaper together: what comes first is begun at once, and what comes while as much as allowed is under way waits and is then
 * begun as one.
 */
export class Gathering<M> {
  readonly #init: GatheringInit<M>;
  readonly #waiting: M[] = [];
  #underWay = 0;
  /** A lane has not taken yet: it takes what comes meanwhile, too. */
  #isTaking = false;

  constructor(init: GatheringInit<M>) {
    this.#init = init;
  }

  /** Whether nothing else begins before something is over. */
  get isFull(): boolean {
    return this.#underWay >= this.#init.lanes;
  }

  add(member: M): void {
    this.#waiting.push(member);
    this.#start();
  }

  #start(): void {
    if (this.#waiting.length > 0 && !this.#isTaking && !this.isFull) void this.#work();
  }

  #work(): Promise<void> {
    this.#underWay++;
    this.#isTaking = true;
    let isIn = true;
    const leave = () => {
      if (!isIn) return;
      isIn = false;
      this.#underWay--;
      this.#start();
    };
    const hasTaken = () => {
      this.#isTaking = false;
      this.#start();
    };
    return this.#init.work(this.#waiting, hasTaken, leave).then(leave);
  }
}
