import assert from 'node:assert/strict';
import { HubError, createEmitter, neverAborted } from '#core';
import { createManualClock } from '#helpers/clock';
import { type Fixture, configOf } from '#helpers/hub';
import { encodeResult, readAnswer, splice } from '#jsonrpc';
import type { Era } from '#mcp';
import {
  type Item,
  type ListKind,
  type Running,
  type Server,
  type ServerStatus,
  createAdmission,
} from '#servers';
import type {
  Caller,
  Owner,
  Relayed,
  ServerNotification,
  ServerRequest,
  Upstream,
} from '#upstream';
import { createBuiltin } from '../../hub/builtin/server.ts';
import type { Outbound } from '../../hub/upstream/upstream-types.ts';

/** Call that reached a scripted server; the test answers it. */
type CallThere = {
  /** Request with its edits, but still with the id of the client. */
  readonly sent: unknown;
  readonly caller: Caller;
  /** Returns the reason of the cancellation; undefined if the call is not cancelled. */
  readonly cancelled: () => string | undefined;
  /** Answers the call with a `result` or an `error`. */
  answer(body: object): void;
};

export type Script = {
  readonly era?: Era;
  readonly capabilities?: { readonly [name: string]: unknown };
  /** Result of the handshake, as the server wrote it. */
  readonly handshake?: object;
  /** Answers requests of the hub. May throw. */
  readonly replies?: (method: string, params: object | undefined) => object;
  readonly items?: Partial<Record<ListKind, readonly Item[]>>;
  /** If false, the server does not run until `ready` is called. */
  readonly isRunning?: boolean;
};

/** Built-in server that offers nothing. A scripted server takes from it the members that a script leaves out. */
const nothing = createBuiltin(
  {
    name: 'nothing',
    description: 'Offers nothing.',
    tools: () => [],
    prompts: () => [],
    resources: [],
    changed: () => ({ [Symbol.dispose]() {} }),
  },
  () => 'nothing',
  { clock: createManualClock(), hubVersion: '0' },
);

/** Creates a server without a process: the test reads the messages it is sent, and answers them. */
export function createScriptedServer(fixture: Fixture, script: Script = {}) {
  const { era = 'legacy', capabilities = {}, handshake = {}, replies = () => ({}) } = script;
  const config = configOf(fixture);
  const calls: CallThere[] = [];
  const asked: { readonly method: string; readonly params: object | undefined }[] = [];
  const forwarded: string[] = [];
  const advice: string[] = [];
  const refreshed: ListKind[] = [];
  const changed = createEmitter<ServerStatus>();
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<ServerNotification>();
  const requested = createEmitter<ServerRequest>();
  /** Results of `onlyCaller` and `onlyOwner`, which the test sets. */
  const clients: { caller: Caller | 'none' | 'several'; owner: Owner | 'none' | 'several' } = {
    caller: 'none',
    owner: 'none',
  };

  const upstream: Upstream = {
    relay<T>({ request, edits, answered, failed }: Outbound<T>, caller: Caller): Relayed<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      let cancelled: string | undefined;
      calls.push({
        sent: JSON.parse(splice(request.bytes, edits).toString()),
        caller,
        cancelled: () => cancelled,
        answer: body =>
          resolve(
            answered(
              readAnswer(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 4_711, ...body }))),
              4_711,
            ),
          ),
      });
      return {
        answer: promise,
        cancel(reason = 'no reason') {
          cancelled = reason;
          reject(failed(new HubError('HUB_CALL_CANCELLED', reason)));
        },
      };
    },
    async request(method, params) {
      asked.push({ method, params });
      return readAnswer(encodeResult('0', JSON.stringify(replies(method, params))));
    },
    listen: () => assert.fail('nobody listens to a scripted server'),
    notify() {},
    forward: ({ method }) => void forwarded.push(method),
    onlyCaller: () => clients.caller,
    callerOf: () => undefined,
    onlyOwner: () => clients.owner,
    isAtWork: () => false,
    inFlight: () => 0,
    relayed: () => calls.length,
    fail() {},
    ended: neverAborted,
  };
  const { running: base } = nothing;
  assert.ok(base);
  const running: Running = {
    instance: base.instance,
    upstream,
    serverInfo: {
      era,
      answer: readAnswer(encodeResult('0', JSON.stringify(handshake))),
      protocolVersion: era === 'modern' ? '2026-07-28' : '2025-11-25',
      capabilities,
      implementation: { name: config.name, version: '1' },
      instructions: undefined,
    },
  };
  let isRunning = script.isRunning ?? true;
  const server: Server = {
    ...nothing,
    isBuiltin: false,
    config,
    listing: { tool: [], prompt: [], resource: [], template: [], ...script.items },
    get running() {
      return isRunning ? running : undefined;
    },
    async ready() {
      isRunning = true;
      return running;
    },
    changed: changed.event,
    listed: listed.event,
    notified: notified.event,
    serverRequest: requested.event,
    admission: createAdmission(config, {
      clock: createManualClock(),
      breaker: undefined,
      revive() {},
    }),
    advise: text => void advice.push(text),
    refresh: async kind => void refreshed.push(kind),
  };
  return {
    server,
    running,
    calls,
    asked,
    forwarded,
    advice,
    refreshed,
    clients,
    fire: {
      changed: changed.fire,
      listed: listed.fire,
      notified: notified.fire,
      requested: requested.fire,
    },
  };
}

/** Returns a list item with its key as the only member. */
export const itemOf = (key: string, value: string): Item => ({
  key: value,
  bytes: Buffer.from(JSON.stringify({ [key]: value })),
});
