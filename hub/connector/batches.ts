import { type Malformed, type Message, malformedAnswer, rawText } from '#jsonrpc';

type Batch = {
  readonly answers: Buffer[];
  /** Ids of the requests that are not answered, as JSON text. */
  readonly waiting: Set<string>;
};

/**
 * Collects the answers to batches of the client. The bridge passes on each message of a batch alone, but the answers to
 * one batch are one message (JSON-RPC 2.0, section 6; in MCP until 2025-03-26).
 */
export function createBatches() {
  /** The batches with unanswered requests, by the ids of these. */
  const byId = new Map<string, Batch>();
  let keptBytes = 0;

  function keep(batch: Batch, answer: Buffer): void {
    batch.answers.push(answer);
    keptBytes += answer.length;
  }

  /** The answers to a batch, if there will be no more. */
  function whole({ answers, waiting }: Batch): Buffer | undefined {
    if (waiting.size > 0 || answers.length === 0) return undefined;
    for (const { length } of answers) keptBytes -= length;
    const pieces = answers.flatMap((answer, at) => [at === 0 ? opening : separator, answer]);
    return Buffer.concat([...pieces, closing]);
  }

  /** A request gets no answer. Returns those of its batch if it was the last one. */
  function dropped(id: string): Buffer | undefined {
    const batch = byId.get(id);
    byId.delete(id);
    return batch?.waiting.delete(id) ? whole(batch) : undefined;
  }

  return {
    /** Answers that wait for others, in bytes. */
    get keptBytes(): number {
      return keptBytes;
    },
    /** Adds a batch. Returns the answers to it if it has no requests. */
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
    /** Returns what the client is sent for an answer: the answer, nothing yet, or all of its batch. */
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
