import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Server as HttpServer, type IncomingMessage, createServer } from 'node:http';
import { type Clock, systemClock } from '#core';
import { createRecordingLog } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { type Message, encodeCall, rawText } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Session } from '#routing';
import { type Streamable, createStreamable } from '#transports';
import type { ResponseStream } from '#upstream';

/** Session that a request opened, which the test answers. */
export type Opened = {
  readonly message: Message;
  /** Sends a notification related to the request, before its answer. */
  related(method: string, params?: object): void;
  /** Answers the request with this result or error. */
  answer(payload: { readonly result: object } | { readonly error: object }): void;
  /** Returns the reason why the session was closed; undefined while it is open. */
  readonly closed: () => string | undefined;
};

/** HTTP transport on a free port, in front of a router that the test scripts. */
type Stub = AsyncDisposable & {
  readonly url: string;
  readonly streamable: Streamable;
  readonly http: HttpServer;
  readonly opened: readonly Opened[];
};

export type StubOptions = {
  readonly clock?: Clock;
  readonly maxSessions?: number;
  /** Returns the principal of a request, given its X-Client-Name. */
  readonly principalOf?: (name: string | undefined) => Principal;
  /** Tool definitions by name. */
  readonly tools?: Readonly<Record<string, object>>;
  /** Answers each request at once; if absent, the test answers. */
  readonly answer?: (opened: Opened) => void;
};

export async function startStub(options: StubOptions = {}): Promise<Stub> {
  const opened: Opened[] = [];
  const tools = new Map(
    Object.entries(options.tools ?? {}).map(([name, tool]) => [
      name,
      Buffer.from(JSON.stringify({ name, ...tool })),
    ]),
  );

  function open(): Session {
    let closed: string | undefined;
    const ends = new Set<() => void>();
    return {
      principal: caller,
      protocolVersion: undefined,
      accept(message: Message, responseStream: ResponseStream) {
        const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
        const id = message.kind === 'request' ? rawText(message.bytes, message.id) : undefined;
        const answer: Opened['answer'] = payload => {
          const [member = '', value] = Object.entries(payload)[0] ?? [];
          resolve(Buffer.from(`{"jsonrpc":"2.0","id":${id},"${member}":${JSON.stringify(value)}}`));
        };
        ends.add(() => answer({ error: { code: -32800, message: String(closed) } }));
        const one: Opened = {
          message,
          related: (method, params) => responseStream.send(encodeCall(undefined, method, params)),
          answer,
          closed: () => closed,
        };
        opened.push(one);
        if (id === undefined) resolve(undefined);
        else options.answer?.(one);
        return promise;
      },
      save: () => undefined,
      close(reason) {
        if (closed !== undefined) return;
        closed = reason;
        for (const end of ends) end();
      },
    };
  }

  let ids = 0;
  const streamable = createStreamable(
    { idleMs: 60_000, maxSessions: options.maxSessions ?? 100 },
    {
      router: {
        open,
        inFlight: 0,
        describeTool: (_view, name) => tools.get(name),
        endSuspendedOf() {},
      },
      clock: options.clock ?? systemClock,
      log: createRecordingLog().log,
      newId: () => `session-${++ids}`,
    },
  );
  const principalOf = ({ headers }: IncomingMessage) =>
    options.principalOf?.(headers['x-client-name']?.toString()) ?? caller;
  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () =>
      streamable.handle(request, response, Buffer.concat(parts), 'all', principalOf(request)),
    );
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  assert.ok(typeof address === 'object' && address);
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    streamable,
    http,
    opened,
    async [Symbol.asyncDispose]() {
      await streamable.drain(0);
      http.closeAllConnections();
      http.close();
    },
  };
}
