/** A controller whose signal counts the abort listeners that are on it. */
export function countedSignal(): {
  readonly controller: AbortController;
  readonly counts: { added: number; removed: number; open: number };
} {
  const controller = new AbortController();
  const { signal } = controller;
  const counts = { added: 0, removed: 0, open: 0 };
  const open = new Map<unknown, EventListener>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const forget = (listener: unknown) => {
    if (!open.delete(listener)) return;
    counts.removed += 1;
    counts.open = open.size;
  };
  signal.addEventListener = (type: string, listener: EventListenerOrEventListenerObject | null) => {
    if (typeof listener !== "function") throw new TypeError("expected a function");
    const counted: EventListener = (event) => {
      forget(listener);
      listener.call(signal, event);
    };
    open.set(listener, counted);
    counts.added += 1;
    counts.open = open.size;
    add(type, counted, { once: true });
  };
  signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject | null) => {
    const counted = open.get(listener);
    if (counted !== undefined) remove(type, counted);
    forget(listener);
  };
  return { controller, counts };
}
