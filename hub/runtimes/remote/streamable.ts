import type { IncomingMessage } from 'node:http';
import { HubError, createAbortScope, messageOf } from '#core';
import { membersOf, rawText, readMessage, rpcCodes } from '#jsonrpc';
import { encodeHeaderValue, mcpHeaders } from '#mcp';
import {
  bodyKind,
  isSuccess,
  maxErrorBytes,
  readBody,
  refusalOf,
  requestEvents,
} from './answers.ts';
import { endsConnection, isLoginRequired } from './authorized-client.ts';
import { createHttpChannel } from './http-channel.ts';
import type { Outgoing } from './outbox.ts';
import { createStreams } from './streams.ts';
import { createToolHeaders } from './tool-headers.ts';
import type { RemoteEndpoint, Transport, TransportNeeds } from './http-client.ts';

/** Timeout in ms for the GET that checks for sessions. */
const sessionsProbeMs = 5_000;
const noGetStatuses = [404, 405];

/** Number of consecutive failed connections after which the channel fails. */
const maxFailures = 3;

/**
 * Creates a channel over streamable HTTP: each message is a POST, answered with JSON or a stream. MCP 2025-03-26 to
 * 2025-11-25 have sessions, resumable streams, and a GET stream for messages outside of requests. A message of
 * 2026-07-28 is self-contained: its headers repeat its metadata, and its stream cannot be resumed. No connection is
 * opened before the first message.
 */
export function createStreamable(endpoint: RemoteEndpoint, needs: TransportNeeds): Transport {
  const { server, url } = endpoint;
  const { http, log } = needs;
  const lifetime = new AbortController();
  let session: string | undefined;
  /** Number of consecutive failed connections. Undefined before the first response. */
  let failures: number | undefined;
  /** True after the server has opened a GET stream. */
  let streamed = false;

  const tools = createToolHeaders(endpoint, { log });
  const link = createHttpChannel(endpoint, {
    ...needs,
    post,
    tellsWhose: true,
    received(answer, { request, claimed }) {
      const isModernList = request?.method === 'tools/list' && claimed !== undefined;
      return isModernList ? tools.learn(answer, request) : answer;
    },
  });
  const streams = createStreams(endpoint, { ...needs, open: openStream, link });
  void link.channel.closed.then(() => lifetime.abort());

  function headers(own: Readonly<Record<string, string>>): Record<string, string> {
    const version = link.protocolVersion();
    return {
      ...endpoint.headers,
      ...own,
      ...(session !== undefined && { [mcpHeaders.session]: session }),
      ...(version !== undefined && { [mcpHeaders.version]: version }),
    };
  }

  function postHeaders({ method = '', request, claimed }: Outgoing): Record<string, string> {
    const types = 'application/json, text/event-stream';
    const own = { accept: types, 'content-type': 'application/json' };
    if (claimed === undefined)
      // Servers of both eras may require this header before they know the era of the message.
      return headers(method === 'initialize' ? { ...own, 'Mcp-Method': method } : own);
    return {
      ...endpoint.headers,
      ...own,
      [mcpHeaders.version]: encodeHeaderValue(claimed),
      ...(request ? tools.headersOf(request) : { 'Mcp-Method': encodeHeaderValue(method) }),
    };
  }

  async function post(message: Outgoing, signal: AbortSignal, sent: () => void): Promise<void> {
    const response = await deliver(message, signal, sent);
    if (message.method === 'initialize' && isSuccess(response))
      session = response.headers[mcpHeaders.session]?.toString();
    if (!isSuccess(response)) await refused(message, response);
    else if (bodyKind(response) === 'events') await readStream(message, response, signal);
    else if (bodyKind(response) === 'json') await takeJson(message, response);
    else await noAnswer(message, response);
    if (message.method === 'notifications/initialized') void hearServer();
  }

  async function deliver(message: Outgoing, signal: AbortSignal, sent: () => void) {
    try {
      const own = postHeaders(message);
      const body = message.bytes;
      const response = await http.request({
        method: 'POST',
        url,
        headers: own,
        body,
        signal,
        sent,
      });
      failures = 0;
      return response;
    } catch (error) {
      if (signal.aborted || !(error instanceof Error)) throw error;
      if (isLoginRequired(error)) {
        if (endsConnection(error)) link.fail(error);
        throw error;
      }
      // If the server has never responded, the channel fails at once: the supervisor restarts the server.
      if (failures === undefined || ++failures >= maxFailures) link.fail(error);
      throw error;
    }
  }

  const awaits = ({ id }: Outgoing) => id !== undefined && link.awaits(id);

  async function readStream(message: Outgoing, stream: IncomingMessage, signal: AbortSignal) {
    const begun = { stream, about: message.id };
    const isAnswered = () => !awaits(message);
    if (message.claimed === undefined) await streams.follow(begun, isAnswered, signal);
    else await streams.read(begun, isAnswered);
  }

  async function takeJson(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body, bytes } = await readBody(endpoint, response, endpoint.maxLineBytes);
    if (!body) link.oversizedAnswer(message.id, bytes);
    else if (body.length > 0) link.receive(body, message.id);
    if (awaits(message))
      throw unanswered('answered with JSON that is not an answer to the request');
  }

  async function noAnswer(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body } = await readBody(endpoint, response, maxErrorBytes);
    if (!awaits(message)) return;
    if (response.headers['content-type'] === undefined)
      throw unanswered(`took the request (${response.statusCode}) and sent no answer`);
    throw refusalOf(endpoint, url, response, body);
  }

  const unanswered = (what: string) =>
    new HubError('HUB_SERVER_PROTOCOL', `${server} ${what}`, { data: { server } });

  async function refused(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body } = await readBody(endpoint, response, maxErrorBytes);
    const { statusCode: status } = response;
    const isOfSession = session !== undefined && message.claimed === undefined;
    // A response to the request may have an error status, such as 404 for an unknown method.
    const answer = body && answerIn(body, message);
    const saysLost = isOfSession && status === 404 && answer && isSessionUnknown(answer);
    if (answer && !saysLost) return link.receive(answer);
    const error = refusalOf(endpoint, url, response, body);
    // Some servers answer 400 instead of 404 for an unknown session.
    const isLost = status === 404 || (status === 400 && /session/i.test(error.message));
    if (isLost && isOfSession) sessionLost(error);
    throw error;
  }

  function sessionLost(cause: HubError): void {
    session = undefined;
    const options = { cause, data: { server, retryable: true } };
    const problem = `${server} no longer knows the session`;
    link.fail(new HubError('HUB_SERVER_DOWN', problem, options));
  }

  /** Returns the headers of a GET. With an event id, the GET resumes the stream after that event. */
  function streamHeaders(lastEventId?: string): Record<string, string> {
    // In UTF-8 (html.spec.whatwg.org, "Last-Event-ID"); Node takes each byte of the header as a character.
    const resumed = lastEventId !== undefined && {
      'last-event-id': Buffer.from(lastEventId).toString('latin1'),
    };
    return headers({ accept: 'text/event-stream', ...resumed });
  }

  async function openStream(lastEventId: string | undefined, signal: AbortSignal) {
    const stream = await requestEvents(endpoint, http, streamHeaders(lastEventId), signal);
    streamed = true;
    return stream;
  }

  /** Reads the server's GET stream, if it has one, while the channel is open. */
  async function hearServer(): Promise<void> {
    try {
      await streams.follow(undefined, () => lifetime.signal.aborted, lifetime.signal);
    } catch (error) {
      if (lifetime.signal.aborted || !(error instanceof HubError)) return;
      const { status } = error.data;
      if (status === undefined || endsConnection(error)) link.fail(error);
      else if (status === 404 && streamed && session !== undefined) sessionLost(error);
      else log.debug({ server, status }, 'the server offers no stream of its own');
    }
  }

  /**
   * Sends a GET without a session, which has no effect. Returns false if the server refuses it, as those of 2026-07-28
   * do with 405.
   */
  async function mayKeepSessions(signal: AbortSignal): Promise<boolean> {
    using late = createAbortScope([signal], { clock: needs.clock, limitMs: sessionsProbeMs });
    try {
      const own = streamHeaders();
      const response = await http.request({
        method: 'GET',
        url,
        headers: own,
        signal: late.signal,
      });
      response.destroy();
      const { statusCode = 0 } = response;
      return statusCode < 500 && !noGetStatuses.includes(statusCode);
    } catch (error) {
      log.debug({ server, error: messageOf(error) }, 'the server does not answer GET');
      return false;
    }
  }

  return {
    channel: link.channel,
    mayKeepSessions,
    async endSession(signal) {
      if (session === undefined) return;
      try {
        const own = headers({});
        const response = await http.request({ method: 'DELETE', url, headers: own, signal });
        await readBody(endpoint, response, maxErrorBytes);
      } catch (error) {
        log.debug({ server, error: messageOf(error) }, 'the session could not be ended');
      }
    },
  };
}

/** True for the error that some servers, such as other hubs, answer to a request of an unknown session. */
function isSessionUnknown(answer: Buffer): boolean {
  const message = readMessage(Buffer.from(answer));
  if (message.kind !== 'answer') return false;
  const code = membersOf(message.bytes, message.payload)?.get('code');
  return code !== undefined && Number(rawText(message.bytes, code)) === rpcCodes.sessionUnknown;
}

/** Returns the JSON-RPC response in a body with an error status, if there is one for this request. */
function answerIn(body: Buffer, { id, claimed }: Outgoing): Buffer | undefined {
  const answer = readMessage(Buffer.from(body));
  if (id === undefined || answer.kind !== 'answer') return undefined;
  if (answer.id) return rawText(answer.bytes, answer.id) === id ? body : undefined;
  // In 2026-07-28, which has no sessions, an error without id can only belong to this request.
  if (claimed === undefined) return undefined;
  const error = rawText(answer.bytes, answer.payload);
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
}
