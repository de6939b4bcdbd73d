import type { Buffer } from 'node:buffer';

/** The connection that batches are written to. */
export type BatchSink = {
  /** Writes the messages of one turn of the event loop. Must not throw. */
  write(messages: readonly Buffer[]): void;
  /** Returns the number of bytes that were passed to `write` but not sent yet. */
  unsentBytes(): number;
};

type WriteBatchOptions = {
  /** Maximum number of waiting bytes. A single message may exceed it if nothing else is waiting. */
  readonly maxUnsentBytes: number;
  /** Bytes that the sink writes around each message. Default: 0. */
  readonly frameBytes?: number;
  /** Called with the size of a message, in bytes, that waits behind others. */
  readonly waits?: (bytes: number) => void;
};

/** Combines the messages of one turn of the event loop into one write. */
export function createWriteBatch(sink: BatchSink, options: WriteBatchOptions) {
  const { maxUnsentBytes, frameBytes = 0, waits } = options;
  let queue: Buffer[] = [];
  let queuedBytes = 0;

  /** Writes all waiting messages now. */
  function flush(): void {
    if (queue.length === 0) return;
    const messages = queue;
    clear();
    sink.write(messages);
  }

  /** Drops all waiting messages. */
  function clear(): void {
    queue = [];
    queuedBytes = 0;
  }

  return {
    /** Queues a message. Returns false if too many bytes are waiting. */
    send(bytes: Buffer): boolean {
      const waiting = queuedBytes + sink.unsentBytes();
      if (waiting > 0 && waiting + bytes.length > maxUnsentBytes) return false;
      if (queue.length === 0) setImmediate(flush);
      queue.push(bytes);
      queuedBytes += bytes.length + frameBytes;
      if (waiting > 0) waits?.(bytes.length);
      return true;
    },
    /** Number of bytes that wait for the end of the turn, including frames. */
    get queuedBytes() {
      return queuedBytes;
    },
    flush,
    clear,
  };
}
