import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerConfig } from '#config';
import { type Clock, type Log, HubError, isObject, silent, systemClock } from '#core';
import { createTestEras } from '#helpers/hub';
import { never } from '#helpers/never';
import { type Receiver, readMessage } from '#jsonrpc';
import type { Exit, Instance } from '#runtimes';
import type { Eras, ServerNeeds } from '#servers';
import { type Upstream, createUpstream } from '#upstream';
import { type StartNeeds, type Started, startServer } from '../../hub/servers/handshake/start.ts';
import { configFor } from './scripted.ts';

/** Answer to a method: a result, an error, no answer, or the end of the server. */
type Reply =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  | 'silence'
  | 'end';

export type Replies = Readonly<Record<string, Reply | (() => Reply)>>;

/** Server in this process that answers each method by a table. Methods outside the table get the error "not found". */
export type Answering = Instance & {
  /** Messages that the hub sent, in order. */
  readonly sent: readonly { readonly method: unknown; readonly [member: string]: unknown }[];
  /** Methods of the messages that the hub sent, in order. */
  readonly methods: readonly unknown[];
  /** Grace periods of the stops so far, in ms. */
  readonly stops: readonly number[];
  readonly isAlive: boolean;
  /** Sends a notification or request of the server to the hub. */
  tell(message: object): void;
  /** Writes text that is not JSON-RPC to the output of the server. */
  write(text: string): void;
  end(exit: Exit): void;
};

export function createAnswering(
  replies: Replies,
  more: Partial<Pick<Instance, 'identity' | 'mayKeepSessions' | 'handle'>> = {},
): Answering {
  const sent: { readonly method: unknown; readonly [member: string]: unknown }[] = [];
  const stops: number[] = [];
  const exited = Promise.withResolvers<Exit>();
  const closed = Promise.withResolvers<{ readonly reason: string }>();
  const early: ((receiver: Receiver) => void)[] = [];
  let receiver: Receiver | undefined;
  let isAlive = true;

  function deliver(work: (receiver: Receiver) => void): void {
    if (receiver) work(receiver);
    else early.push(work);
  }

  function tell(message: object): void {
    const read = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
    if (isAlive && read.kind !== 'malformed') deliver(heard => heard.message(read));
  }

  function end(exit: Exit): void {
    if (!isAlive) return;
    isAlive = false;
    closed.resolve({ reason: exit.detail });
    exited.resolve(exit);
  }

  function answer(id: unknown, method: string): void {
    const given = replies[method] ?? { error: { code: -32601, message: 'Method not found' } };
    const reply = typeof given === 'function' ? given() : given;
    if (reply === 'end') end({ code: 3, detail: 'exited with code 3' });
    else if (reply !== 'silence') tell({ id, ...reply });
  }

  return {
    about: { answering: true },
    ...more,
    sent,
    stops,
    get methods() {
      return sent.map(({ method }) => method);
    },
    get isAlive() {
      return isAlive;
    },
    channel: {
      listen(heard) {
        receiver = heard;
        for (const work of early.splice(0)) work(heard);
      },
      send(bytes) {
        if (!isAlive) throw new HubError('HUB_SERVER_DOWN', 'it is gone');
        const message: unknown = JSON.parse(bytes.toString());
        if (!isObject(message)) return;
        const { id, method } = message;
        sent.push({ ...message, method });
        if (id !== undefined && typeof method === 'string')
          queueMicrotask(() => answer(id, method));
      },
      closed: closed.promise,
      close: reason => end({ detail: reason }),
    },
    exited: exited.promise,
    async stop({ graceMs }) {
      stops.push(graceMs);
      end({ code: 0, detail: 'stopped' });
      return await exited.promise;
    },
    usage: async () => undefined,
    tell,
    write: text => deliver(heard => heard.noise(text)),
    end,
  };
}

/** Answers of a server of 2025-11-25 with one tool. */
export const legacyReplies = {
  initialize: {
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1' },
    },
  },
  'tools/list': { result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } },
} as const satisfies Replies;

/** Answers of a server of 2026-07-28 without lists. */
export const modernReplies = {
  'server/discover': {
    result: {
      supportedVersions: ['2026-07-28'],
      capabilities: {},
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '2' } },
    },
  },
} as const satisfies Replies;

/** Opens the hub's end of a connection to the server. */
export function openUpstream({ channel }: Answering, clock: Pick<Clock, 'after'>): Upstream {
  return createUpstream({ server: 'scripted' }, channel, {
    clock,
    log: silent,
    output: silent,
    notified() {},
    serverRequest() {},
  });
}

/** Waits until all pending work that needs no timer has finished. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

type Given = Partial<Pick<StartNeeds, 'own' | 'launching' | 'opened'>> &
  Pick<ServerNeeds, 'launch' | 'launches'> & {
    readonly events?: Omit<StartNeeds['events'], 'gone'>;
    readonly config?: ServerConfig;
    readonly clock?: Clock;
    readonly log?: Log;
    readonly eras?: Eras;
    readonly signal?: AbortSignal;
    readonly variant?: string;
  };

/** Returns the dependencies of a start of one server; `launch` returns its instances. */
export function startNeedsOf(given: Given): StartNeeds {
  const { clock = systemClock, log = silent, launch, launches } = given;
  const { config = configFor(), signal = never, variant } = given;
  return {
    attempt: { config, signal, variant },
    hub: {
      clock,
      random: () => 1,
      hubVersion: '0',
      eras: given.eras ?? createTestEras(silent),
      launch,
      ...(launches && { launches }),
    },
    log,
    output: silent,
    own: given.own,
    events: {
      ...(given.events ?? { stderr() {}, progress() {} }),
      gone: how => new HubError('HUB_SERVER_DOWN', `${config.name} is gone: ${how}`),
    },
    client: {
      interest: () => ({ resources: [], tasks: [] }),
      maxNotifications: () => 1_000,
      notified() {},
      serverRequest() {},
    },
    lists: { replace() {}, announce() {}, isCurrent: () => true },
    launching: given.launching ?? (() => {}),
    opened:
      given.opened ??
      (({ channel }, upstream) =>
        void channel.closed.then(({ reason }) =>
          upstream.fail(new HubError('HUB_SERVER_DOWN', `${config.name} is gone: ${reason}`)),
        )),
  };
}

/** Starts the server in the era (legacy or modern) of the config. */
export const startOf = async (server: Answering, given: Partial<Given> = {}): Promise<Started> =>
  await startServer(startNeedsOf({ launch: async () => server, ...given }));
