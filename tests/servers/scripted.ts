import assert from 'node:assert/strict';
import type { ServerConfig } from '#config';
import { type Clock, type JsonObject, HubError, isObject, silent, systemClock } from '#core';
import { asBytes } from '#helpers/calls';
import { configOf, createTestEras, until } from '#helpers/hub';
import { type Receiver, readMessage } from '#jsonrpc';
import type { Exit, Instance } from '#runtimes';
import { type Server, type ServerNeeds, createServer } from '#servers';

/** Server in this process that the test scripts. */
export type Scripted = Instance & {
  readonly config: ServerConfig;
  readonly variant: string | undefined;
  readonly isAlive: boolean;
  /** Methods of the messages that the hub sent, in order. */
  readonly methods: readonly string[];
  /** Ids of the requests that the hub sent, in order. */
  readonly ids: readonly number[];
  /** Makes the server answer nothing from now on. */
  mute(): void;
  /** Answers the calls that the server holds. */
  release(): void;
  /** Makes the server exit by itself. */
  end(exit: Exit): void;
};

type ScriptedOptions = {
  readonly tools?: readonly string[];
  /** True if the server never answers, so that its start fails. */
  readonly isBroken?: boolean;
  readonly identity?: string;
  /** Returns the handle by which a later run finds the instance; delayed until the promise resolves. */
  readonly handle?: () => Promise<string>;
};

/** Creates an instance of a scripted server. */
function createScripted(
  config: ServerConfig,
  variant: string | undefined,
  options: ScriptedOptions,
): Scripted {
  const methods: string[] = [];
  const ids: number[] = [];
  const kept: (() => void)[] = [];
  const exited = Promise.withResolvers<Exit>();
  const closed = Promise.withResolvers<{ readonly reason: string }>();
  let receiver: Receiver | undefined;
  let isAlive = true;
  let isMute = options.isBroken === true;

  function reply(message: JsonObject): void {
    queueMicrotask(() => {
      const read = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
      if (isAlive && read.kind !== 'malformed') receiver?.message(read);
    });
  }

  function asked(id: number, method: string, params: unknown): void {
    if (isMute) return;
    switch (method) {
      case 'initialize':
        return reply({
          id,
          result: {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'scripted', version: '1' },
          },
        });
      case 'tools/list':
        return reply({
          id,
          result: {
            tools: (options.tools ?? ['work']).map(name => ({ name, inputSchema: {} })),
          },
        });
      case 'tools/call': {
        const text = `${String(config.description)}`;
        const answer = () => reply({ id, result: { content: [{ type: 'text', text }] } });
        if (isObject(params) && isObject(params['arguments']) && params['arguments']['hold'])
          kept.push(answer);
        else answer();
        return undefined;
      }
      default:
        return reply({ id, result: {} });
    }
  }

  function end(exit: Exit): void {
    if (!isAlive) return;
    isAlive = false;
    closed.resolve({ reason: exit.detail });
    exited.resolve(exit);
  }

  return {
    about: { scripted: true },
    config,
    variant,
    methods,
    ids,
    get isAlive() {
      return isAlive;
    },
    ...(options.identity !== undefined && { identity: options.identity }),
    ...(options.handle && { handle: options.handle }),
    channel: {
      listen(heard) {
        receiver = heard;
      },
      send(bytes) {
        if (!isAlive) throw new HubError('HUB_SERVER_DOWN', 'it is gone');
        const message: unknown = JSON.parse(bytes.toString());
        if (!isObject(message) || typeof message['method'] !== 'string') return;
        methods.push(message['method']);
        if (typeof message['id'] !== 'number') return;
        ids.push(message['id']);
        asked(message['id'], message['method'], message['params']);
      },
      closed: closed.promise,
      close: reason => end({ detail: reason }),
    },
    exited: exited.promise,
    async stop() {
      // Exits in a later turn of the event loop, as a process does.
      await new Promise(resolve => setImmediate(resolve));
      end({ code: 0, detail: 'stopped' });
      return await exited.promise;
    },
    usage: async () => undefined,
    mute() {
      isMute = true;
    },
    release() {
      for (const answer of kept.splice(0)) answer();
    },
    end,
  };
}

type Scene = {
  readonly server: Server;
  /** All launched instances, oldest first. */
  readonly launched: readonly Scripted[];
  readonly states: readonly string[];
  /** The instance that was launched last. */
  readonly newest: Scripted;
  readonly alive: readonly Scripted[];
};

/** Creates a supervised server with scripted instances. They follow the config, unless `script` differs from it. */
export function supervise(
  more: Partial<ServerConfig> = {},
  given: Partial<ServerNeeds> &
    NonNullable<ServerNeeds['launches']> & {
      readonly clock?: Clock;
      readonly script?: (config: ServerConfig) => ScriptedOptions;
      /** Delays each launch until the promise resolves. */
      readonly gate?: () => Promise<void>;
    } = {},
): Scene & AsyncDisposable {
  const { script = () => ({}), gate = async () => {}, ...needs } = given;
  const launched: Scripted[] = [];
  const states: string[] = [];
  const server = createServer(configFor(more), {
    clock: systemClock,
    log: silent,
    // The maximum jitter, which makes the waits before restarts as short as possible.
    random: () => 1,
    hubVersion: '0',
    eras: createTestEras(silent),
    instances: { count: () => 0, isHeard: () => false },
    launches: given,
    async launch(config, _events, signal, variant) {
      await gate();
      signal.throwIfAborted();
      const one = createScripted(config, variant, script(config));
      launched.push(one);
      return one;
    },
    ...needs,
  });
  server.changed(({ state }) => {
    if (states.at(-1) !== state) states.push(state);
  });
  return {
    server,
    launched,
    states,
    get newest() {
      return launched.at(-1) ?? assert.fail('nothing was launched');
    },
    get alive() {
      return launched.filter(({ isAlive }) => isAlive);
    },
    async [Symbol.asyncDispose]() {
      await server.close('stopping');
    },
  };
}

/** Returns the config of a scripted server, which answers calls with its description. */
export const configFor = (more: Partial<ServerConfig> = {}): ServerConfig => ({
  ...configOf({ name: 'scripted' }),
  era: 'legacy',
  startTimeoutMs: 300,
  description: 'first',
  ...more,
});

/**
 * Calls the tool of a server, and returns the text of the answer. With `hold`, the server answers only after `release`.
 */
export async function call(
  server: Server,
  more: { readonly hold?: boolean } = {},
): Promise<string> {
  const { upstream } = await server.ready();
  const params = { name: 'work', arguments: more };
  const request = readMessage(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })),
  );
  if (request.kind !== 'request') return assert.fail(request.kind);
  const { answer } = upstream.relay(
    asBytes(request),
    {
      owner: { hasOpenRequest: false, serverRequest() {}, notification() {} },
      responseStream: { send() {} },
      progressToken: undefined,
    },
    10_000,
  );
  const { result } = JSON.parse((await answer).toString());
  return result.content[0].text;
}

/** Resolves when the server has received `calls` calls. */
export async function keeps(one: Scripted, calls = 1): Promise<void> {
  await until(() => one.methods.filter(method => method === 'tools/call').length >= calls);
}
