import { randomUUID } from 'node:crypto';
import { type Clock, HubError, backoffMs, isObject, sleep } from '#core';
import {
  type Answer,
  type Members as MemberTexts,
  type Span,
  membersOf,
  rawText,
  readAnswer,
  setMembers,
  splice,
  stringAt,
} from '#jsonrpc';
import { metaKeys, modernVersion, metaEdits } from '#mcp';
import { type Running, type Server, withSampling } from '#servers';
import { type Call, type ResolvedCall, type ServerReply, FailedCall } from '../call.ts';
import {
  capabilitiesOf,
  isServerMethod,
  lacking,
  refusedCapability,
} from '../events/client-capabilities.ts';
import { type ClientRequests } from '../events/client-requests.ts';
import type { HubSampling } from '../events/hub-sampling.ts';
import { setWork, throwIfCancelled, whileCancellable } from '../session.ts';
import { traceMembers } from '../trace.ts';
import { maxHubInputs } from './hub-inputs.ts';
import { asLegacy, notFoundAsBefore } from './results.ts';
import { createRisingProgress } from './rising-progress.ts';
import { type SendNeeds, send } from './send.ts';

/**
 * Maximum number of times that a server may return `input_required`, to ask for input or time, before it returns a
 * result.
 */
const maxRounds = 20;
const pause = { firstMs: 100, maxMs: 5_000, jitter: 0 };
/** Maximum number of inputs that a server may request from a client at once. */
const maxInputs = 32;

export type ToModernNeeds = SendNeeds & {
  readonly clientRequests: ClientRequests;
  readonly hubSampling: Pick<HubSampling, 'answers' | 'answerInput'>;
  readonly clock: Pick<Clock, 'after'>;
};

/**
 * Sends a request of a client with a session to a stateless server (MCP 2026-07-28). The hub requests the input that
 * the server requires from the client, in the client's revision and on the response stream of the call.
 */
export async function toModern(
  resolved: ResolvedCall,
  server: Server,
  running: Running,
  needs: ToModernNeeds,
): Promise<ServerReply> {
  const { call, edits } = resolved;
  const { request, params, meta } = call;
  const progress = meta?.has('progressToken') && createRisingProgress(call.responseStream);
  const sent = progress
    ? { ...resolved, call: { ...call, responseStream: progress.stream } }
    : resolved;
  let more: MemberTexts | undefined;
  let pauses = 0;
  let serverMs = 0;
  for (let round = 0; round < maxRounds; round++) {
    const all = [...edits, ...metaEdits(request, params, meta, metadataOf(call, server), more)];
    const reply = await send(sent, all, server, running, needs).catch(addTime(serverMs));
    serverMs += reply.serverMs;
    const { bytes, outcome } = reply;
    const answer = readAnswer(bytes);
    const result = answer.failed ? undefined : membersOf(bytes, answer.payload);
    if (stringAt(bytes, result?.get('resultType')) !== 'input_required') {
      const converted = answer.failed
        ? notFoundAsBefore(answer, request.method)
        : asLegacy(answer, result, call, edits, server);
      return { bytes: converted, outcome, serverMs };
    }
    try {
      const wanted = [...(membersOf(bytes, result?.get('inputRequests')) ?? [])];
      const state = result?.get('requestState');
      const requestState = state && { requestState: rawText(bytes, state) };
      if (wanted.length > 0) {
        const inputResponses = await askAll(call, answer, wanted, server, needs);
        more = { inputResponses, ...requestState };
      } else if (requestState) {
        await pauseFor(call, ++pauses, needs.clock);
        more = requestState;
      } else throw unfit(server, 'answered input_required without naming an input');
    } catch (error) {
      throw new FailedCall(error, serverMs);
    }
    if (progress) progress.again();
  }
  throw new FailedCall(
    unfit(server, `asked ${maxRounds} times for more and gave no result`),
    serverMs,
  );
}

/** Rethrows the failure of a round, with the server time of the earlier rounds added. */
const addTime =
  (serverMs: number) =>
  (error: unknown): never => {
    if (error instanceof FailedCall) throw new FailedCall(error.error, serverMs + error.serverMs);
    throw serverMs === 0 ? error : new FailedCall(error, serverMs);
  };

const unfit = ({ config }: Server, what: string) =>
  new HubError('HUB_SERVER_PROTOCOL', `${config.name} ${what}`, { data: { server: config.name } });

/** Waits before the next attempt. Throws HUB_CALL_CANCELLED if the client cancels the call. */
const pauseFor = (call: Call, times: number, clock: ToModernNeeds['clock']): Promise<void> =>
  whileCancellable(call, async signal => {
    await sleep(
      backoffMs(pause, times, () => 0),
      { clock, signal },
    );
    throwIfCancelled(call);
  });

/** Returns the metadata that MCP 2026-07-28 requires in each request, from the params of the client's `initialize`. */
function metadataOf(call: Call, server: Server): MemberTexts {
  const { client, logLevel } = call.session;
  return {
    [metaKeys.protocolVersion]: JSON.stringify(modernVersion),
    [metaKeys.clientCapabilities]: withSampling(client?.capabilities ?? '{}', server.config),
    ...(client && { [metaKeys.clientInfo]: client.clientInfo }),
    ...(logLevel !== undefined && { [metaKeys.logLevel]: JSON.stringify(logLevel) }),
    ...traceMembers(call),
  };
}

/**
 * Requests all inputs that the server requires: completions from the hub where the client cannot sample, everything
 * else from the client. Returns the answers as JSON text.
 */
async function askAll(
  call: Call,
  { bytes }: Answer,
  members: readonly (readonly [string, Span])[],
  server: Server,
  { clientRequests, hubSampling }: Pick<ToModernNeeds, 'clientRequests' | 'hubSampling'>,
): Promise<string> {
  const { session, responseStream } = call;
  throwIfCancelled(call);
  const all = members.map(([key, span]) => {
    const request = membersOf(bytes, span);
    const method = stringAt(bytes, request?.get('method')) ?? '';
    const params = request?.get('params');
    if (isServerMethod(method))
      throw unfit(server, `asks a client for ${JSON.stringify(method)}, which only servers answer`);
    const refused = refusedCapability(capabilitiesOf(session), { bytes, method, params });
    const isByHub = refused !== undefined && hubSampling.answers(server, method);
    if (refused !== undefined && !isByHub) throw lacking(method, refused);
    return { key, method, isByHub, params: params && paramsFor(method, bytes, params) };
  });
  const fromClient = all.filter(({ isByHub }) => !isByHub);
  if (fromClient.length > maxInputs)
    throw unfit(
      server,
      `asks for ${fromClient.length} inputs at once; the hub passes on ${maxInputs}`,
    );
  // The server requests the other completions again in the next round.
  const fromHub = all.filter(({ isByHub }) => isByHub).slice(0, maxHubInputs);
  const ended = new AbortController();
  const asking: Pick<ReturnType<ClientRequests['sendToClient']>, 'cancel'>[] = [];
  const questions = {
    cancel(reason: string | undefined) {
      ended.abort();
      for (const one of asking) one.cancel(reason ?? 'the call was cancelled');
    },
  };

  /**
   * Sends one question to the client. Rejects instead of throwing if that fails: other open questions must be
   * cancelled.
   */
  async function ask(method: string, params: string | undefined): Promise<string> {
    const asked = clientRequests.sendToClient(session, method, params, responseStream);
    asking.push(asked);
    const { failed, payload, bytes: from } = await asked.answer;
    const text = rawText(from, payload);
    if (failed) throw refusedByClient(method, text);
    return text;
  }

  setWork(call.cancellation, questions);
  try {
    const answers = await Promise.all(
      [...fromClient, ...fromHub].map(async ({ key, method, params, isByHub }) => {
        const text = isByHub
          ? await hubSampling.answerInput(server, params, ended.signal)
          : await ask(method, params);
        return `${JSON.stringify(key)}:${text}`;
      }),
    );
    return `{${answers.join(',')}}`;
  } catch (error) {
    questions.cancel('another question was refused');
    throwIfCancelled(call);
    throw error;
  }
}

/** Returns the params of the client's request. The client's revision requires an id for each page. */
function paramsFor(method: string, bytes: Buffer, params: Span): string {
  const members = membersOf(bytes, params);
  const isPage = method === 'elicitation/create' && stringAt(bytes, members?.get('mode')) === 'url';
  if (!isPage || !members || members.has('elicitationId')) return rawText(bytes, params);
  const own = Buffer.from(bytes.subarray(params.start, params.end));
  const elicitationId = JSON.stringify(randomUUID());
  const span = { start: 0, end: own.length };
  return splice(own, setMembers(span, members, { elicitationId })).toString();
}

function refusedByClient(method: string, error: string): HubError {
  const value: unknown = JSON.parse(error);
  const why = isObject(value) ? String(value['message']) : 'no reason given';
  return new HubError('HUB_CLIENT_GONE', `the client refused ${method}: ${why}`, {
    data: { error: value },
  });
}
