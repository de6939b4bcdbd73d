import { HubError } from '#core';
import { membersOf, rawText, readAnswer, stringAt } from '#jsonrpc';
import { metaKeys, metaEdits } from '#mcp';
import { type Running, type Server, withSampling } from '#servers';
import { type Call, type ResolvedCall, type ServerReply, FailedCall } from '../call.ts';
import type { HubSampling } from '../events/hub-sampling.ts';
import { throwIfCancelled, whileCancellable } from '../session.ts';
import { traceMembers } from '../trace.ts';
import { type SendNeeds, send } from './send.ts';

/** Maximum number of times that a server may request completions before it returns a result. */
const maxRounds = 20;
/** Maximum number of completions (sampling requests) in a round. The hub runs all of them at the same time. */
export const maxHubInputs = 20;
const sampling = 'sampling/createMessage';

export type HubInputsNeeds = SendNeeds & {
  readonly hubSampling: Pick<HubSampling, 'answers' | 'answerInput'>;
};

/**
 * Sends a request of a stateless client that does not support sampling to a stateless server with `"sampling": "hub"`.
 * The hub declares sampling to the server, and answers its sampling requests. The client gets the result, or the
 * server's other requests. Returns undefined if the call does not need the hub.
 */
export function withHubInputs(
  resolved: ResolvedCall,
  server: Server,
  running: Running,
  needs: HubInputsNeeds,
): Promise<ServerReply> | undefined {
  const { call } = resolved;
  if (!needs.hubSampling.answers(server, sampling)) return undefined;
  const span = call.meta?.get(metaKeys.clientCapabilities);
  const own = span ? rawText(call.request.bytes, span) : '{}';
  const told = withSampling(own, server.config);
  return told === own ? undefined : converse(resolved, told, server, running, needs);
}

async function converse(
  resolved: ResolvedCall,
  capabilities: string,
  server: Server,
  running: Running,
  needs: HubInputsNeeds,
): Promise<ServerReply> {
  const { call, edits } = resolved;
  const { request, params, meta } = call;
  const members = { [metaKeys.clientCapabilities]: capabilities, ...traceMembers(call) };
  let more: { readonly [name: string]: string } | undefined;
  let serverMs = 0;
  for (let round = 0; ; round++) {
    const all = [...edits, ...metaEdits(request, params, meta, members, more)];
    const reply = await send(resolved, all, server, running, needs);
    serverMs += reply.serverMs;
    const { bytes } = reply;
    const { failed, payload } = readAnswer(bytes);
    const result = failed ? undefined : membersOf(bytes, payload);
    const wanted = samplingIn(bytes, result);
    // The client answers all other requests of the server.
    if (wanted.length === 0) return { ...reply, serverMs };
    try {
      if (round >= maxRounds) throw endless(server);
      const inputResponses = await answerAll(call, wanted, server, needs);
      const state = result?.get('requestState');
      more = { inputResponses, ...(state && { requestState: rawText(bytes, state) }) };
    } catch (error) {
      throw new FailedCall(error, serverMs);
    }
  }
}

const endless = ({ config: { name } }: Server) =>
  new HubError(
    'HUB_SERVER_PROTOCOL',
    `${name} asked more than ${maxRounds} times for completions and gave no result`,
    { data: { server: name } },
  );

/** Returns the keys and params of the sampling requests in an `input_required` result. */
function samplingIn(bytes: Buffer, result: ReturnType<typeof membersOf>) {
  if (stringAt(bytes, result?.get('resultType')) !== 'input_required') return [];
  const all = [...(membersOf(bytes, result?.get('inputRequests')) ?? [])];
  const completions = all.flatMap(([key, span]) => {
    const asked = membersOf(bytes, span);
    const params = asked?.get('params');
    return stringAt(bytes, asked?.get('method')) === sampling
      ? [{ key, params: params && rawText(bytes, params) }]
      : [];
  });
  return completions.slice(0, maxHubInputs);
}

/** Returns the completions as JSON text. Other requests of the server go to the client in a later round. */
async function answerAll(
  call: Call,
  wanted: ReturnType<typeof samplingIn>,
  server: Server,
  { hubSampling }: HubInputsNeeds,
): Promise<string> {
  return await whileCancellable(call, async signal => {
    const answers = await Promise.all(
      wanted.map(
        async ({ key, params }) =>
          `${JSON.stringify(key)}:${await hubSampling.answerInput(server, params, signal)}`,
      ),
    );
    throwIfCancelled(call);
    return `{${answers.join(',')}}`;
  });
}
