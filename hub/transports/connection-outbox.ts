import { type ByteBudget, noBudget } from './byte-budget.ts';

/** Where messages go: what is written at once is one write. */
export type Outlet = {
  /** Must not throw. */
  write(messages: readonly Buffer[]): void;
  /** Bytes handed to `write` that the other end has not taken yet. */
  unsentBytes(): number;
};

/** Gathers what is sent within one turn of the event loop into one write. */
export interface Outbox {
  /** Sends one message after those before it; false where the other end leaves too much unread. */
  send(bytes: Buffer): boolean;
  /** What waits for the end of the turn, in bytes. */
  readonly queuedBytes: number;
  /** Writes at once what waits. */
  flush(): void;
  /** Forgets what waits. */
  clear(): void;
}

/** More than `maxUnsentBytes` does not wait, unless it is one message and nothing waits before it. */
export function createOutbox(
  outlet: Outlet,
  maxUnsentBytes: number,
  unread: Pick<ByteBudget, 'added'> = noBudget,
): Outbox {
  let queue: Buffer[] = [];
  let queuedBytes = 0;

  function flush(): void {
    if (queue.length === 0) return;
    const messages = queue;
    queue = [];
    queuedBytes = 0;
    outlet.write(messages);
  }

  return {
    send(bytes) {
      const waiting = queuedBytes + outlet.unsentBytes();
      if (waiting > 0 && waiting + bytes.length > maxUnsentBytes) return false;
      if (queue.length === 0) setImmediate(flush);
      queue.push(bytes);
      queuedBytes += bytes.length;
      if (waiting > 0) unread.added(bytes.length);
      return true;
    },
    get queuedBytes() {
      return queuedBytes;
    },
    flush,
    clear() {
      queue = [];
      queuedBytes = 0;
    },
  };
}
