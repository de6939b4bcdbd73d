import assert from 'node:assert/strict';
import type { ServerConfig } from '#config';
import { type Clock, type JsonObject, HubError, isObject, silent, systemClock } from '#core';
import { asBytes } from '#helpers/calls';
import { configOf, createTestEras, until } from '#helpers/hub';
import { type Receiver, readMessage } from '#jsonrpc';
import type { Exit, Instance } from '#runtimes';
import { type Server, type ServerNeeds, createServer } from '#servers';

/** A server within this process: it says what it is told to, when it is told to. */
export type Scripted = Instance & {
  readonly config: ServerConfig;
  readonly variant: string | undefined;
  readonly isAlive: boolean;
  /** What the hub sent, in order, by method. */
  readonly methods: readonly string[];
  /** The ids of what it was asked. */
  readonly ids: readonly number[];
  /** From here on it answers nothing. */
  mute(): void;
  /** Answers the calls that it has kept. */
  release(): void;
  /** It ends by itself. */
  end(exit: Exit): void;
};

type ScriptedOptions = {
  readonly tools?: readonly string[];
  /** It does not come up. */
  readonly isBroken?: boolean;
  readonly identity?: string;
  /** What it is found by; held back until it resolves. */
  readonly handle?: () => Promise<string>;
};

/** How it is launched and ended, and what it is asked. */
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
      // It takes its time, as a process does.
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
  /** All that were launched, the oldest first. */
  readonly launched: readonly Scripted[];
  readonly states: readonly string[];
  /** The one that was launched last. */
  readonly newest: Scripted;
  readonly alive: readonly Scripted[];
};

/** A server whose instances are scripted: as the config describes them, unless `script` says otherwise. */
export function supervise(
  more: Partial<ServerConfig> = {},
  given: Partial<ServerNeeds> &
    NonNullable<ServerNeeds['launches']> & {
      readonly clock?: Clock;
      readonly script?: (config: ServerConfig) => ScriptedOptions;
      /** Resolves when what is launched may come up. */
      readonly gate?: () => Promise<void>;
    } = {},
): Scene & AsyncDisposable {
  const { script = () => ({}), gate = async () => {}, ...needs } = given;
  const launched: Scripted[] = [];
  const states: string[] = [];
  const server = createServer(configFor(more), {
    clock: systemClock,
    log: silent,
    // The longest jitter: tests wait no longer than they must.
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

/** The config of a scripted server, which answers calls with its description. */
export const configFor = (more: Partial<ServerConfig> = {}): ServerConfig => ({
  ...configOf({ name: 'scripted' }),
  era: 'legacy',
  startTimeoutMs: 300,
  description: 'first',
  ...more,
});

/** Calls the tool of a server, and gives the text of the answer. `hold`: until it is released. */
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

/** Resolves when the server has got a call that it keeps. */
export async function keeps(one: Scripted, calls = 1): Promise<void> {
  await until(() => one.methods.filter(method => method === 'tools/call').length >= calls);
}
