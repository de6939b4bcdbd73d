import { createHash, createHmac } from 'node:crypto';
import { type Clock, HubError, isObject, setBounded, unlessAborted } from '#core';
import {
  type Answer,
  RpcError,
  encodeCall,
  readAnswer,
  readMessage,
  rpcCodes,
  valueOf,
} from '#jsonrpc';
import { attemptParams, invalidState, metaKeys, requireMac } from '#mcp';
import { principalKey } from '#policy';
import type { Caller, ServerConnection } from './upstream-types.ts';

/** A question to the user of a client (MCP, elicitation in form mode). */
export type ElicitationQuestion = {
  readonly message: string;
  /** A flat JSON schema of the answer. */
  readonly requestedSchema: object;
};

export type ElicitationAnswer = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content: Readonly<Record<string, unknown>>;
};

/** The request that a question is about. */
type ElicitedRequest = {
  readonly caller: Pick<Caller, 'owner' | 'principal' | 'responseStream'>;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The request is of MCP 2026-07-28. */
  readonly isModern: boolean;
  readonly signal: AbortSignal;
};

/**
 * Ends a request of MCP 2026-07-28 with a question to its user. `result`: result of the request. The client sends the
 * request again with the answer.
 */
export class InputRequired extends Error {
  readonly result: object;
  constructor(result: object) {
    super('the client is asked');
    this.result = result;
  }
}

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** A random key of this run. */
  readonly key: Buffer;
  /** Identity of the asking part of the hub: the same object for all its questions. */
  readonly source: object;
  readonly connection: () => ServerConnection;
  /** Sends the client the `notifications/cancelled` of a question whose request was cancelled. */
  readonly withdraw: (notification: Buffer) => void;
};

/** Time for the user of a stateless client to answer, in ms. */
const lifeMs = 10 * 60_000;
/** Maximum number of used states that are remembered, each for `lifeMs`. */
const maxUsed = 10_000;
/** Key of the only question in `inputRequests`. */
const inputKey = 'question';
const method = 'elicitation/create';

export type Elicitation = ReturnType<typeof createElicitation>;

/** Creates the questions of the hub itself to users of clients. */
export function createElicitation({ clock, key, source, connection, withdraw }: Needs) {
  let lastId = 0;
  const used = new Map<string, true>();

  /** Asks in the session of a client. */
  async function askSession(request: ElicitedRequest, question: ElicitationQuestion) {
    const { caller, signal } = request;
    const id = ++lastId;
    const asked = readMessage(encodeCall(id, method, question));
    if (asked.kind !== 'request') throw new TypeError('it is a request');
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const about = { ...caller, progressToken: undefined };
    caller.owner.serverRequest(
      { request: asked, connection: connection(), about, answer: resolve, tell() {}, source },
      caller.responseStream,
    );
    try {
      return inSession(readAnswer(await unlessAborted(promise, signal)));
    } catch (error) {
      if (signal.aborted)
        withdraw(encodeCall(undefined, 'notifications/cancelled', { requestId: id }));
      throw error;
    }
  }

  function sign(
    body: string,
    { caller, method: of, params }: ElicitedRequest,
    asked: object,
  ): string {
    const hash = createHash('sha256').update(
      `${caller.principal && principalKey(caller.principal)}\n${of}\n${JSON.stringify(asked)}\n`,
    );
    for (const name of Object.keys(params).toSorted())
      if (!attemptParams.has(name)) hash.update(`${JSON.stringify([name, params[name]])}\n`);
    return createHmac('sha256', key)
      .update(`${body}\n${hash.digest('base64url')}`)
      .digest('base64url');
  }

  /** Asks by the result of the request, or reads the answer in it. */
  function askByResult(request: ElicitedRequest, question: ElicitationQuestion): ElicitationAnswer {
    const { requestState: state, inputResponses } = request.params;
    if (state !== undefined) {
      const [, body = '', expires = '', mac = ''] =
        (typeof state === 'string' && shape.exec(state)) || [];
      requireMac(mac, sign(body, request, question), 'this request');
      if (used.has(body)) throw invalidState('was used already');
      if (clock.monotonic() > Number(expires)) throw invalidState('has expired');
      const answer = answerIn(isObject(inputResponses) ? inputResponses[inputKey] : undefined);
      if (answer) {
        setBounded(used, body, true, maxUsed);
        return answer;
      }
    }
    const body = `${++lastId}.${Math.ceil(clock.monotonic() + lifeMs)}`;
    throw new InputRequired({
      resultType: 'input_required',
      inputRequests: { [inputKey]: { method, params: { mode: 'form', ...question } } },
      requestState: `${body}.${sign(body, request, question)}`,
    });
  }

  return {
    /**
     * Asks the user about a request, and resolves with the answer; with undefined if the client cannot ask its user.
     * For a stateless client, rejects with InputRequired: the client sends the request again with the answer, so ask
     * before any side effect. An answer is valid once, for this request and this question.
     */
    async ask(
      request: ElicitedRequest,
      question: ElicitationQuestion,
    ): Promise<ElicitationAnswer | undefined> {
      if (!request.isModern) return await askSession(request, question);
      return canAsk(request.params) ? askByResult(request, question) : undefined;
    },
  };
}

const shape = /^((?:\d{1,15})\.(\d{1,16}))\.([\w-]{43})$/;

/** Reads the answer of a client with a session; undefined if the client does not support questions. */
function inSession({ bytes, payload, failed }: Answer): ElicitationAnswer | undefined {
  const value = valueOf(bytes, payload);
  if (!failed) {
    const answer = answerIn(value);
    if (answer) return answer;
    throw new RpcError(
      rpcCodes.invalidParams,
      'HUB_REQUEST_INVALID',
      'the client answered the question with no "action" of accept, decline or cancel',
    );
  }
  const { code, message } = isObject(value) ? value : {};
  // The hub itself answers with this error for a client that did not declare the capability.
  if (code === rpcCodes.methodNotFound) return undefined;
  throw new HubError(
    'HUB_CLIENT_GONE',
    `the client did not answer the question: ${String(message)}`,
  );
}

/** Reads the answer in a result of `elicitation/create`; undefined if it has no valid action. */
export function answerIn(value: unknown): ElicitationAnswer | undefined {
  const { action, content } = isObject(value) ? value : {};
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') return undefined;
  return { action, content: isObject(content) ? content : {} };
}

/** True if a stateless client can show its user a form. */
const canAsk = ({ _meta: meta }: ElicitedRequest['params']): boolean =>
  takesForms(isObject(meta) ? meta[metaKeys.clientCapabilities] : undefined);

/** True if a client with these capabilities can show its user a form. An empty `elicitation` means forms. */
export function takesForms(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  if (!isObject(elicitation)) return false;
  return 'form' in elicitation || Object.keys(elicitation).length === 0;
}
