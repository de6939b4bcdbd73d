import { randomBytes } from 'node:crypto';
import { ownServerConfig } from '#config';
import { type Clock, type Event, HubError, createEmitter } from '#core';
import { encodeResult, readAnswer, readMessage } from '#jsonrpc';
import { modernVersion, tasksExtension } from '#mcp';
import type { Instance } from '#runtimes';
import {
  type Item,
  type Listing,
  type ListKind,
  type Running,
  type Server,
  type ServerStatus,
  createAdmission,
} from '#servers';
import { type Elicitation, type ServerNotification, createElicitation } from '#upstream';
import type { BuiltinItem, BuiltinServer } from './builtin-server.ts';
import { createBuiltinUpstream } from './upstream.ts';

type BuiltinNeeds = {
  readonly clock: Clock;
  readonly hubVersion: string;
};

/** Timeout of a call, in milliseconds. Handlers that wait for models or servers have shorter limits of their own. */
const callTimeoutMs = 10 * 60_000;

const usualCapabilities = {
  completions: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};

const never: Event<never> = () => ({ [Symbol.dispose]() {} });

/**
 * Wraps a built-in server as a `Server`. It always runs, speaks both eras, and cannot be stopped. `nameOf` returns its
 * name, which changes if the config gets an entry of that name.
 */
export function createBuiltin(
  builtin: BuiltinServer,
  nameOf: () => string,
  { clock, hubVersion }: BuiltinNeeds,
): Server {
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<ServerNotification>();
  const watches = new Map<string, Disposable>();
  const status: ServerStatus = { state: 'running', since: clock.now() };
  let config = ownServerConfig(nameOf(), {
    description: builtin.description,
    callTimeoutMs,
    launch: { runtime: 'process', logs: 'none' },
  });
  let listing: Listing | undefined;
  let running: Running | undefined;
  const admission = createAdmission(config, { clock, breaker: undefined, revive() {} });

  builtin.changed(kind => {
    listing = undefined;
    listed.fire(kind);
  });

  const elicitation = createElicitation({
    clock,
    key: randomBytes(32),
    source: builtin,
    connection: () => run().upstream,
    withdraw: notifyBytes,
  });
  const run = () => (running ??= runningOf(builtin, { clock, hubVersion, elicitation, notify }));

  function updated(uri: string): void {
    notify('notifications/resources/updated', JSON.stringify({ uri }));
  }

  /** Sends a notification. `params` is JSON text. */
  function notify(method: string, params: string): void {
    const text = `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`;
    notifyBytes(Buffer.from(text));
  }

  function notifyBytes(bytes: Buffer): void {
    const message = readMessage(bytes);
    const connection = run().upstream;
    if (message.kind === 'notification') notified.fire({ ...message, connection });
  }

  function refuse(): never {
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${config.name} is part of the hub: it runs as long as the hub does`,
    );
  }

  return {
    get config() {
      const name = nameOf();
      if (name !== config.name) config = { ...config, name };
      return config;
    },
    get listing() {
      return (listing ??= listingOf(builtin));
    },
    get running() {
      return run();
    },
    ready: async () => run(),
    watch({ resources }) {
      for (const [uri, watch] of watches)
        if (!resources.includes(uri)) {
          watch[Symbol.dispose]();
          watches.delete(uri);
        }
      for (const uri of resources) {
        const resource = builtin.resources.find(one => one.uri === uri);
        if (resource && !watches.has(uri))
          watches.set(
            uri,
            resource.watch(() => updated(uri)),
          );
      }
    },
    isBuiltin: true,
    status,
    admission,
    listed: listed.event,
    notified: notified.event,
    changed: never,
    serverRequest: never,
    wrote: never,
    health: undefined,
    restarts: 0,
    instances: 0,
    advice: [],
    lastError: undefined,
    refusedEntry: undefined,
    closed: undefined,
    stderr: () => '',
    advise() {},
    freshUntil: () => Infinity,
    scope(kind) {
      listing ??= listingOf(builtin);
      return listing[kind].some(({ isAdministrative }) => isAdministrative) ? 'private' : 'public';
    },
    misfits: () => [],
    async recall() {},
    async refresh() {},
    start() {},
    stop: async () => refuse(),
    reconfigure: async () => refuse(),
    async close() {},
  };
}

function listingOf({ tools, prompts, resources }: BuiltinServer): Listing {
  const item = (key: string, description: string) => ({ key, bytes: Buffer.from(description) });
  const named = ({ name, publicName, description }: BuiltinItem): Item => ({
    ...item(name, description),
    ...(publicName !== undefined && { publicName }),
  });
  return {
    tool: tools().map(tool => ({
      ...named(tool),
      ...(tool.scope === 'administer' && { isAdministrative: true }),
      ...(tool.calls && { calls: tool.calls }),
    })),
    prompt: prompts().map(named),
    resource: resources.map(({ uri, description }) => ({
      ...item(uri, description),
      publicName: uri,
    })),
    template: [],
  };
}

function runningOf(
  builtin: BuiltinServer,
  {
    clock,
    hubVersion,
    ...needs
  }: BuiltinNeeds & {
    readonly elicitation: Elicitation;
    readonly notify: (method: string, params: string) => void;
  },
): Running {
  const serverInfo = { name: builtin.name, version: hubVersion };
  const capabilities = {
    ...usualCapabilities,
    ...(builtin.hasTasks && {
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      extensions: { [tasksExtension]: {} },
    }),
  };
  const identity = { capabilities, serverInfo };
  return {
    instance,
    upstream: createBuiltinUpstream(builtin, identity, { clock, ...needs }),
    serverInfo: {
      era: 'modern',
      answer: readAnswer(encodeResult('0', JSON.stringify(identity))),
      protocolVersion: modernVersion,
      capabilities,
      implementation: serverInfo,
      instructions: undefined,
    },
    speaksBothEras: true,
  };
}

/** A placeholder, as a built-in server has no process and no channel. */
const instance: Instance = {
  about: { process: 'hub' },
  channel: { listen() {}, send() {}, closed: new Promise(() => {}), close() {} },
  exited: new Promise(() => {}),
  stop: async () => ({ detail: 'it ends with the hub' }),
  usage: async () => undefined,
};
