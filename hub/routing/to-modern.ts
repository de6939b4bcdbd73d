import { randomUUID } from 'node:crypto';
import { HubError, isObject } from '#core';
import {
  type Answer,
  type Edit,
  type Members as MemberTexts,
  type Span,
  membersOf,
  metaKeys,
  modernVersion,
  rawText,
  setMembers,
  splice,
  stringAt,
} from '#rpc';
import type { Running, Server } from '#servers';
import { type Asks, capabilitiesOf, lacking } from './asks.ts';
import { type Call, needWanted } from './call.ts';
import { refusedCapability } from './capabilities.ts';
import { pass, readAnswer } from './send.ts';
import type { SessionState } from './session.ts';

/** How often a server may ask for more before it gives a result. */
const maxRounds = 20;
/** How much it may ask for at once. */
const maxInputs = 32;

/**
 * Passes a request of a client with a session to a server that keeps none (MCP 2026-07-28): the request
 * says who asks, and what the server wants to know before it answers, the client is asked as its own
 * revision has it, by requests on the way of the call.
 */
export async function toModern(
  call: Call,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  asks: Asks,
): Promise<Buffer> {
  let more: MemberTexts = {};
  for (let round = 0; round < maxRounds; round++) {
    const bytes = await pass(call, [...edits, ...metadata(call, more)], server, running);
    const answer = readAnswer(bytes);
    const result = answer.failed ? undefined : membersOf(bytes, answer.payload);
    if (stringAt(bytes, result?.get('resultType')) !== 'input_required') return bytes;
    const inputResponses = await askAll(call, answer, result?.get('inputRequests'), server, asks);
    const state = result?.get('requestState');
    more = { inputResponses, ...(state && { requestState: rawText(bytes, state) }) };
  }
  throw new HubError(
    'HUB_SERVER_PROTOCOL',
    `${server.config.name} asked ${maxRounds} times for more and gave no result`,
    { data: { server: server.config.name } },
  );
}

/** The edits by which a request tells what MCP 2026-07-28 wants in each, and carries `more`. */
function metadata(call: Call, more: MemberTexts): readonly Edit[] {
  const { request, params, meta, session } = call;
  const own = metadataOf(session);
  const metaSpan = params.get('_meta');
  const text = `{${Object.entries(own)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
    .join(',')}}`;
  if (!request.params) {
    const members = Object.entries({ ...more, _meta: text });
    const all = members.map(([name, value]) => `"${name}":${value}`).join(',');
    const end = request.bytes.lastIndexOf('}');
    return [{ span: { start: end, end }, text: `,"params":{${all}}` }];
  }
  return metaSpan && meta
    ? [...setMembers(request.params, params, more), ...setMembers(metaSpan, meta, own)]
    : setMembers(request.params, params, { ...more, _meta: text });
}

/** What a client said at `initialize`, as each request of the stateless revision says it. */
function metadataOf({ client, logLevel }: SessionState): MemberTexts {
  return {
    [metaKeys.protocolVersion]: JSON.stringify(modernVersion),
    [metaKeys.clientCapabilities]: client?.capabilities ?? '{}',
    ...(client && { [metaKeys.clientInfo]: client.clientInfo }),
    ...(logLevel !== undefined && { [metaKeys.logLevel]: JSON.stringify(logLevel) }),
  };
}

/** Asks the client for all that the server wants to know; the answers as JSON text. */
async function askAll(
  call: Call,
  { bytes }: Answer,
  requests: Span | undefined,
  server: Server,
  asks: Asks,
): Promise<string> {
  const { session, exchange } = call;
  needWanted(call);
  const members = [...(membersOf(bytes, requests) ?? [])];
  if (members.length > maxInputs)
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      `${server.config.name} asks for ${members.length} inputs at once; the hub passes on ${maxInputs}`,
      { data: { server: server.config.name } },
    );
  const wanted = members.map(([key, span]) => {
    const request = membersOf(bytes, span);
    const method = stringAt(bytes, request?.get('method')) ?? '';
    const params = request?.get('params');
    const refused = refusedCapability(capabilitiesOf(session), { bytes, method, params });
    if (refused !== undefined) throw lacking(method, refused);
    return { key, method, params: params && paramsFor(method, bytes, params) };
  });
  const asking = wanted.map(({ key, method, params }) => ({
    key,
    method,
    ...asks.ask(session, method, params, exchange),
  }));
  const flight = {
    cancel(reason: string | undefined) {
      for (const one of asking) one.cancel(reason ?? 'the call was cancelled');
    },
  };
  call.flight = flight;
  try {
    const answers = await Promise.all(
      asking.map(async ({ key, method, answer }) => {
        const { failed, payload, bytes: from } = await answer;
        const text = rawText(from, payload);
        if (failed) throw refusedByClient(method, text);
        return `${JSON.stringify(key)}:${text}`;
      }),
    );
    return `{${answers.join(',')}}`;
  } catch (error) {
    flight.cancel('another question was refused');
    throw error;
  }
}

/** What the client is asked: its revision has an id for each page that it is to show. */
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
