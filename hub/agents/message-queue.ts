import { z } from 'zod';
import { type Clock, HubError, type Log, retryable } from '#core';
import { type Backlog, createJournal } from '#store';
import { readText } from './read-text.ts';

/** A message that was accepted and has no outcome yet. */
export type PendingMessage = {
  readonly agent: string;
  readonly id: string;
  /** The sender's name in the policy. */
  readonly from: string;
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Messages are taken by round. Each sender has one message per round, so that senders take turns. */
  readonly round: number;
  /** Id of the container that works on it. Undefined: it waits. */
  readonly startedIn?: string;
};

const saved = z.union([
  z.object({
    type: z.literal('accepted'),
    agent: z.string(),
    id: z.string(),
    from: z.string(),
    text: z.string(),
    at: z.number(),
    round: z.int(),
  }),
  z.object({ type: z.literal('started'), id: z.string(), container: z.string() }),
  z.object({ type: z.literal('outcome'), id: z.string(), status: z.string() }),
]);

type QueueLimits = {
  /** Maximum number of messages that wait for one agent. */
  readonly perAgent: number;
  /** Maximum size of a message in bytes. */
  readonly messageBytes: number;
  /** Maximum size of all waiting messages in bytes. */
  readonly totalBytes: number;
};

type Needs = {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly backlog: Backlog;
  readonly newId: () => string;
};

/** The messages that agents have not answered yet. Each outlives the hub until it has its outcome. */
export type MessageQueue = ReturnType<typeof createMessageQueue>;

/** Creates the queue over the journal in `file`. */
export function createMessageQueue(
  { file, limits }: { readonly file: string; readonly limits: QueueLimits },
  { clock, log, backlog, newId }: Needs,
) {
  /** In the order of acceptance. */
  const pending = new Map<string, PendingMessage>();
  /** Ids of messages that are being written to the journal. They count in the limits, and are not accepted yet. */
  const accepting = new Set<string>();
  /** Round of the newest message that an agent has begun, by agent. */
  const rounds = new Map<string, number>();
  let bytes = 0;
  const journal = createJournal(
    {
      file,
      // A compacted journal has at most half of this size, and must have room for every waiting message.
      maxBytes: 4 * limits.totalBytes,
      snapshot: () => Array.from(pending.values()).flatMap(recordsOf),
    },
    { log, backlog },
  );

  const allOf = (agent: string) =>
    Array.from(pending.values())
      .filter(message => message.agent === agent)
      // The message that has begun is first, the others follow by round. Within a round, the order of acceptance stays.
      .toSorted((a, b) => orderOf(a) - orderOf(b));

  const ofAgent = (agent: string) => allOf(agent).filter(({ id }) => !accepting.has(id));

  function add(message: PendingMessage): void {
    pending.set(message.id, message);
    bytes += sizeOf(message.text);
  }

  function drop(id: string): PendingMessage | undefined {
    const message = pending.get(id);
    if (!message || !pending.delete(id)) return undefined;
    bytes -= sizeOf(message.text);
    return message;
  }

  return {
    /** Reads the messages of the last run. Rejects with HUB_AGENT_STORE_FAILED if the file cannot be read. */
    async open(): Promise<void> {
      // Read before: the journal would treat an unreadable file as empty, and replace it.
      await readText(file);
      for (const record of await journal.open()) {
        const { data } = saved.safeParse(record);
        if (data?.type === 'accepted') {
          const { type: _, ...message } = data;
          add(message);
        }
        if (data?.type === 'outcome') drop(data.id);
        const message = data?.type === 'started' ? pending.get(data.id) : undefined;
        if (message && data?.type === 'started')
          pending.set(message.id, { ...message, startedIn: data.container });
      }
      // New messages of other senders take their turns with those that wait, and not before all of them.
      for (const { agent, round } of pending.values())
        rounds.set(agent, Math.min(rounds.get(agent) ?? Infinity, round - 1));
    },
    /** The accepted messages of an agent in the order in which it takes them. */
    of: ofAgent,
    /** Returns the ids of agents with messages. */
    agents: (): ReadonlySet<string> => new Set(Array.from(pending.values(), ({ agent }) => agent)),
    next: (agent: string): PendingMessage | undefined => ofAgent(agent)[0],
    find: (id: string): PendingMessage | undefined => pending.get(id),
    /**
     * Accepts a message, and resolves when it is on the disk. `position`: number of messages before it. Rejects with
     * HUB_REQUEST_INVALID, HUB_BODY_TOO_LARGE, HUB_AGENT_QUEUE_FULL, and HUB_AGENT_STORE_FAILED if it cannot be written.
     */
    async accept(agent: string, text: string, from: string) {
      if (text.trim() === '')
        throw new HubError(
          'HUB_REQUEST_INVALID',
          'message: is empty: write what the agent is to do',
        );
      const size = sizeOf(text);
      if (size > limits.messageBytes)
        throw new HubError(
          'HUB_BODY_TOO_LARGE',
          `message: has ${size} bytes as JSON; an agent takes ${limits.messageBytes}. Send a shorter one, or let the agent read a file`,
        );
      const before = allOf(agent);
      if (before.length >= limits.perAgent)
        throw retryable(
          'HUB_AGENT_QUEUE_FULL',
          `${limits.perAgent} messages wait for the agent ${agent}. Send more when it has answered some, or raise "agents.queue" in the config`,
        );
      if (bytes + size > limits.totalBytes)
        throw retryable(
          'HUB_AGENT_QUEUE_FULL',
          `the waiting messages of all agents have ${bytes} bytes together, and this one ${size}: the most is ${limits.totalBytes}. Send it later`,
        );
      const own = before.filter(message => message.from === from).map(({ round }) => round);
      const round = Math.max(rounds.get(agent) ?? 0, ...own) + 1;
      const message = { agent, id: newId(), from, text, at: clock.now(), round };
      add(message);
      accepting.add(message.id);
      const isWritten = await journal.append(acceptedOf(message));
      accepting.delete(message.id);
      if (!isWritten) {
        drop(message.id);
        throw retryable(
          'HUB_AGENT_STORE_FAILED',
          `the message for ${agent} was not accepted, because ${file} cannot be written. See the log of the hub, and free space on its disk`,
        );
      }
      return { message, position: allOf(agent).findIndex(({ id }) => id === message.id) };
    },
    /** Records that a container works on a message. */
    async started(id: string, container: string): Promise<void> {
      const message = pending.get(id);
      if (!message) return;
      rounds.set(message.agent, message.round);
      pending.set(id, { ...message, startedIn: container });
      await journal.append({ type: 'started', id, container });
    },
    /** Ends a message. Returns false if it had its outcome before. */
    async end(id: string, status: string): Promise<boolean> {
      if (!drop(id)) return false;
      await journal.append({ type: 'outcome', id, status });
      return true;
    },
    close: () => journal.close(),
  };
}

const orderOf = ({ startedIn, round }: PendingMessage) => (startedIn === undefined ? round : 0);

/** Returns the size of a text in the journal, in bytes. */
const sizeOf = (text: string): number => Buffer.byteLength(JSON.stringify(text));

function acceptedOf(message: PendingMessage): object {
  const { startedIn: _, ...accepted } = message;
  return { type: 'accepted', ...accepted };
}

const recordsOf = (message: PendingMessage): readonly object[] => [
  acceptedOf(message),
  ...(message.startedIn === undefined
    ? []
    : [{ type: 'started', id: message.id, container: message.startedIn }]),
];
