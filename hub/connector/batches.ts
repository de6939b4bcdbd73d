import { type Malformed, type Message, malformedAnswer, rawText } from '#jsonrpc';

type Batch = {
  readonly answers: Buffer[];
  /** Ids of the unanswered requests of the batch, as JSON text. */
  readonly waiting: Set<string>;
};

/**
 * Collects the answers to batches of the client. The bridge sends the messages of a batch to the hub one by one, but
 * the client gets the answers to a batch as one message (JSON-RPC 2.0, section 6; in MCP until 2025-03-26).
 */
export function createBatches() {
  /** Batches with unanswered requests, by the ids of these requests. */
  const byId = new Map<string, Batch>();
  let keptBytes = 0;

  function keep(batch: Batch, answer: Buffer): void {
    batch.answers.push(answer);
    keptBytes += answer.length;
  }

  /** Returns the answers to a batch as one message, once all its requests are answered; otherwise undefined. */
  function whole({ answers, waiting }: Batch): Buffer | undefined {
    if (waiting.size > 0 || answers.length === 0) return undefined;
    for (const { length } of answers) keptBytes -= length;
    const pieces = answers.flatMap((answer, at) => [at === 0 ? opening : separator, answer]);
    return Buffer.concat([...pieces, closing]);
  }

  /** Ends a request that gets no answer. Returns the answers to its batch if it was the last unanswered request. */
  function dropped(id: string): Buffer | undefined {
    const batch = byId.get(id);
    byId.delete(id);
    return batch?.waiting.delete(id) ? whole(batch) : undefined;
  }

  return {
    /** Size of the answers that wait for the rest of their batch, in bytes. */
    get keptBytes(): number {
      return keptBytes;
    },
    /** Adds a batch. Returns the answers to the batch if it contains no requests. */
    add(messages: readonly (Message | Malformed)[]): Buffer | undefined {
      const batch: Batch = { answers: [], waiting: new Set() };
      for (const message of messages) {
        if (message.kind === 'malformed') keep(batch, malformedAnswer(message));
        if (message.kind !== 'request') continue;
        const id = rawText(message.bytes, message.id);
        // A second request with this id is refused: the id gets one answer.
        if (byId.has(id)) continue;
        byId.set(id, batch);
        batch.waiting.add(id);
      }
      return whole(batch);
    },
    /**
     * Returns what to send to the client for an answer: the answer itself, nothing yet, or the whole batch of answers.
     */
    answered(id: string, answer: Buffer): Buffer | undefined {
      const batch = byId.get(id);
      if (!batch) return answer;
      keep(batch, answer);
      return dropped(id);
    },
    dropped,
  };
}

const opening = Buffer.from('[');
const separator = Buffer.from(',');
const closing = Buffer.from(']');
