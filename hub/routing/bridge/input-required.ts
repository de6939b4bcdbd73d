import { type Clock, HubError, createSharedMap, isObject, retryable } from '#core';
import { membersOf, stringAt, valueOf } from '#jsonrpc';
import { invalidState, metaKeys } from '#mcp';
import { type Principal, principalKey } from '#policy';
import type { Running, Server } from '#servers';
import type { ServerConnection } from '#upstream';
import type { Call, ResolvedCall, ServerReply } from '../call.ts';
import { clientIdentityOf } from '../client-identity.ts';
import type { LogLevels } from '../events/log-levels.ts';
import { throwIfCancelled } from '../session.ts';
import type { RequestStates } from './request-state.ts';
import type { SuspendedCall } from './suspended-call-types.ts';
import { createSuspendedCall } from './suspended-call.ts';

/** Methods whose results may be `input_required`. */
const inputMethods = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Maximum number of calls that wait for their clients. Further calls are refused. */
const maxWaiting = 4_000;
/** Maximum number of waiting calls per principal, so that one principal leaves room for others. */
export const maxWaitingPerPrincipal = 1_000;
/** Maximum total size of the requests of waiting calls, in bytes. The requests stay in memory while the calls wait. */
const maxWaitingBytes = 64 * 2 ** 20;

export type SuspendedCalls = ReturnType<typeof createSuspendedCalls>;

/**
 * Holds the calls of stateless clients (MCP 2026-07-28) to servers with sessions. The client gets a server's questions
 * as `input_required`. The call at the server waits until the client sends the answers.
 */
export function createSuspendedCalls(needs: {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly states: RequestStates;
  readonly levels: Pick<LogLevels, 'atLeast'>;
  readonly newId: () => string;
}) {
  const waiting = createSharedMap<SuspendedCall>(maxWaiting, maxWaitingPerPrincipal);
  /** Calls that servers are working on, including those that wait for a client. */
  const open = new Set<SuspendedCall>();

  async function begin(
    resolved: ResolvedCall,
    server: Server,
    running: Running,
    visits: number,
  ): Promise<ServerReply> {
    const { call } = resolved;
    const { request, meta } = call;
    const owner = principalKey(call.principal);
    const capabilities = valueOf(request.bytes, meta?.get(metaKeys.clientCapabilities));
    // A session's own instance serves only one client, so the client's name does not matter.
    const client =
      server.config.instance === 'session' ? 'own' : (clientIdentityOf(call) ?? call.session.key);
    const logLevel = call.logLevel === 'none' ? undefined : call.logLevel;
    using levels = new DisposableStack();
    if (logLevel !== undefined) levels.use(await needs.levels.atLeast(server, running, logLevel));
    throwIfCancelled(call);
    const held = new DisposableStack();
    const begun = createSuspendedCall(
      {
        id: needs.newId(),
        client,
        capabilities: isObject(capabilities) ? capabilities : {},
        logLevel,
        mayAsk: inputMethods.has(request.method),
        visits,
      },
      resolved,
      server,
      running,
      {
        ...needs,
        suspend(suspended) {
          const { requestBytes } = suspended;
          if (waiting.size >= maxWaiting)
            throw full(`${maxWaiting} calls wait for their clients already`);
          if (waiting.countOf(owner) >= maxWaitingPerPrincipal)
            throw full(
              `${maxWaitingPerPrincipal} calls of this client wait for its answers already`,
            );
          const kept = waiting.valuesOf(owner).reduce((sum, one) => sum + one.requestBytes, 0);
          if (kept + requestBytes > maxWaitingBytes)
            throw full(
              `the calls that wait for answers of this client have ${kept} bytes, and this one has ${requestBytes}: the most is ${maxWaitingBytes} bytes together`,
            );
          waiting.set(suspended.id, suspended, owner);
        },
        forget: suspended => void waiting.remove(suspended.id),
        callsWith: one => [...open].filter(other => isSameClient(one, other)),
        hasOpenRequest: one =>
          [...open, ...waiting.values()].some(
            other => other.hasOpenRequest && isSameClient(one, other),
          ),
        over(suspended) {
          open.delete(suspended);
          held.dispose();
        },
      },
    );
    held.use(levels.move());
    open.add(begun);
    return await begun.first;
  }

  return {
    /** Resumes the call that waits for the answers in this request; undefined if no call waits for them. */
    resume(call: Call): Promise<ServerReply> | undefined {
      const { request, params } = call;
      const text = stringAt(request.bytes, params.get('requestState'));
      const id = text === undefined ? undefined : needs.states.claimed(text);
      const suspended = id === undefined ? undefined : waiting.get(id);
      if (!suspended || text === undefined) return undefined;
      const { round } = needs.states.verify(text, call);
      return suspended.resume(
        call,
        round,
        membersOf(request.bytes, params.get('inputResponses')) ?? new Map(),
      );
    },
    /** Starts a call. A client that only visited the requested pages also starts a new call. */
    async call(resolved: ResolvedCall, server: Server, running: Running): Promise<ServerReply> {
      const { call } = resolved;
      const { request, params } = call;
      const span = inputMethods.has(request.method) ? params.get('requestState') : undefined;
      if (!span) return await begin(resolved, server, running, 0);
      const text = stringAt(request.bytes, span);
      if (text === undefined) throw invalidState('must be a string');
      const state = needs.states.verify(text, call);
      if (state.round > 0) throw invalidState('belongs to a call that is over');
      needVisits(call, server);
      return await begin(resolved, server, running, state.visits);
    },
    /** The server cancelled its request with this id, which is JSON text. */
    withdrawn(connection: ServerConnection, id: string): void {
      for (const suspended of new Set([...open, ...waiting.values()]))
        suspended.withdrawn(connection, id);
    },
    /** Cancels the calls of a principal that wait for answers of its client. */
    endOf(principal: Principal, reason: string): void {
      for (const suspended of waiting.valuesOf(principalKey(principal))) suspended.giveUp(reason);
    },
    close(): void {
      for (const suspended of waiting.values()) suspended.giveUp('the hub is stopping');
    },
  };
}

const full = (why: string) => retryable('HUB_INPUTS_FULL', why);

const isSameClient = (one: SuspendedCall, other: SuspendedCall): boolean =>
  one.server === other.server && one.client === other.client;

/** Throws HUB_CLIENT_GONE if the client declined to open the pages: the server would request the same pages again. */
function needVisits({ request, params }: Call, { config }: Server): void {
  const { bytes } = request;
  for (const span of membersOf(bytes, params.get('inputResponses'))?.values() ?? []) {
    const action = stringAt(bytes, membersOf(bytes, span)?.get('action'));
    if (action !== undefined && action !== 'accept')
      throw new HubError(
        'HUB_CLIENT_GONE',
        `${config.name} gives no result before a page was visited, and the client answered "${action}"`,
        { data: { server: config.name } },
      );
  }
}
