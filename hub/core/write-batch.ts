import type { Buffer } from 'node:buffer';

/** Where a batch is written. */
export type BatchSink = {
  /** Takes the messages of one turn. Must not throw. */
  write(messages: readonly Buffer[]): void;
  /** Bytes handed to `write` that the other end has not taken yet. */
  unsentBytes(): number;
};

export type WriteBatchOptions = {
  /** More does not wait, unless it is one message and nothing waits before it. */
  readonly maxUnsentBytes: number;
  /** Bytes that the sink writes around each message. Default: 0. */
  readonly frameBytes?: number;
  /** Told of a message that waits behind others. */
  readonly waits?: (bytes: number) => void;
};

/** Collects what is sent within one turn of the event loop into one write. */
export interface WriteBatch {
  /** Sends a message after those before it; false if too much waits already. */
  send(bytes: Buffer): boolean;
  /** Bytes that wait for the end of the turn, with those of their frames. */
  readonly queuedBytes: number;
  /** Writes at once what waits. */
  flush(): void;
  /** Drops what waits. */
  clear(): void;
}

export function createWriteBatch(sink: BatchSink, options: WriteBatchOptions): WriteBatch {
  const { maxUnsentBytes, frameBytes = 0, waits } = options;
  let queue: Buffer[] = [];
  let queuedBytes = 0;

  function flush(): void {
    if (queue.length === 0) return;
    const messages = queue;
    clear();
    sink.write(messages);
  }

  function clear(): void {
    queue = [];
    queuedBytes = 0;
  }

  return {
    send(bytes) {
      const waiting = queuedBytes + sink.unsentBytes();
      if (waiting > 0 && waiting + bytes.length > maxUnsentBytes) return false;
      if (queue.length === 0) setImmediate(flush);
      queue.push(bytes);
      queuedBytes += bytes.length + frameBytes;
      if (waiting > 0) waits?.(bytes.length);
      return true;
    },
    get queuedBytes() {
      return queuedBytes;
    },
    flush,
    clear,
  };
}
