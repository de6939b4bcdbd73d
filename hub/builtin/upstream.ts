import {
  type Clock,
  HubError,
  createAbortScope,
  isObject,
  neverAborted,
  parseExactly,
  unlessAborted,
} from '#core';
import { encodeResult, membersOf, rawText, readAnswer, splice, stringAt } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Caller, Elicitation, ElicitationQuestion, Upstream } from '#upstream';
import {
  type Identity,
  answerRequest,
  asLegacyResult,
  asResult,
  paramsOf,
} from './answer-request.ts';
import type { BuiltinContext, BuiltinServer } from './builtin-server.ts';
import { createBuiltinTasks } from './tasks.ts';

/** Creates an upstream that answers requests in this process, in the era of each request and without a bridge. */
export function createBuiltinUpstream(
  server: BuiltinServer,
  identity: Identity,
  {
    clock,
    elicitation,
    notify,
  }: {
    readonly clock: Pick<Clock, 'after' | 'now'>;
    readonly elicitation: Elicitation;
    /** Sends a notification to the client of a task. `params` is JSON text. */
    readonly notify: (method: string, params: string) => void;
  },
): Upstream {
  const tasks = createBuiltinTasks({ clock, notify, asResult });
  let inFlight = 0;
  let relayed = 0;

  return {
    relay({ request, edits, answered, failed }, caller, timeoutMs, waitedMs = 0) {
      const { method } = request;
      const asked = membersOf(request.bytes, request.params);
      const publicName = stringAt(request.bytes, asked?.get('name'));
      // Parsed without loss of numbers, as fan-out tools pass the arguments on.
      const params = paramsOf(parseExactly(splice(request.bytes, edits).toString()));
      const meta = isObject(params['_meta']) ? params['_meta'] : {};
      const isModern = metaKeys.protocolVersion in meta;
      const scope = createAbortScope([], {
        clock,
        limitMs: timeoutMs - waitedMs,
        reason: () =>
          new HubError(
            'HUB_CALL_TIMEOUT',
            `${server.name} did not answer ${method} within ${timeoutMs / 1000} s`,
          ),
      });
      let isOver = false;
      const context = {
        principal: caller.principal,
        client:
          caller.owner.clientName ??
          clientNameIn(
            isModern
              ? meta[metaKeys.clientInfo]
              : caller.owner.client && JSON.parse(caller.owner.client.clientInfo),
          ),
        signal: scope.signal,
        progress: createProgress(caller, () => isOver || scope.signal.aborted),
        elicit: (question: ElicitationQuestion) =>
          elicitation.ask({ caller, method, params, isModern, signal: scope.signal }, question),
      };
      inFlight++;
      const number = ++relayed;
      const work = answerRequest(server, identity, tasks, {
        method,
        params,
        publicName,
        context,
        isModern,
        progressToken: caller.progressToken,
      });
      const answer = unlessAborted(work, scope.signal)
        .then(
          result => {
            const text = isModern ? { resultType: 'complete', ...result } : asLegacyResult(result);
            const id = rawText(request.bytes, request.id);
            return answered(readAnswer(encodeResult(id, JSON.stringify(text))), number);
          },
          (error: unknown) => {
            // Any other error is a bug, which the router logs.
            throw error instanceof HubError ? failed(error) : error;
          },
        )
        .finally(() => {
          inFlight--;
          isOver = true;
          scope[Symbol.dispose]();
        });
      return {
        answer,
        cancel: reason =>
          scope.abort(
            new HubError(
              'HUB_CALL_CANCELLED',
              `${method} was cancelled${reason === undefined ? '' : `: ${reason}`}`,
            ),
          ),
      };
    },
    async request(method, params) {
      const context = {
        principal: undefined,
        client: undefined,
        signal: new AbortController().signal,
        progress: () => {},
        elicit: async () => undefined,
      };
      const request = {
        method,
        params: paramsOf({ params }),
        publicName: undefined,
        context,
        isModern: false,
        progressToken: undefined,
      };
      const result = await answerRequest(server, identity, tasks, request);
      return readAnswer(encodeResult('0', JSON.stringify(result)));
    },
    listen() {
      throw new TypeError('a server of the hub itself announces changes by its events');
    },
    notify() {},
    forward() {},
    onlyCaller: () => (inFlight === 0 ? 'none' : 'several'),
    callerOf: () => undefined,
    onlyOwner: () => (relayed === 0 ? 'none' : 'several'),
    isAtWork: () => inFlight > 0,
    inFlight: () => inFlight,
    relayed: () => relayed,
    fail() {},
    ended: neverAborted,
  };
}

/** Returns the name in the `clientInfo` of a request or session. */
function clientNameIn(clientInfo: unknown): string | undefined {
  const name = isObject(clientInfo) ? clientInfo['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * Returns a function that sends numbered progress notifications. MCP requires that progress increases, and that no
 * notification follows the response, after which a handler may still run.
 */
function createProgress(
  { responseStream, progressToken }: Caller,
  isOver: () => boolean,
): BuiltinContext['progress'] {
  let progress = 0;
  if (progressToken === undefined) return () => {};
  return message => {
    if (isOver()) return;
    responseStream.send(
      Buffer.from(
        // Inserted as JSON text: parsing would change a number beyond 2^53.
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${progressToken},"progress":${++progress},"message":${JSON.stringify(message)}}}`,
      ),
    );
  };
}
