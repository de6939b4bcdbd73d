import type { IncomingMessage } from 'node:http';
import { HubError, messageOf } from '#core';
import { rawText, readMessage } from '#rpc';
import { bodyKind, isSuccess, maxErrorBytes, readBody, refusalOf } from './answers.ts';
import { createHttpChannel } from './http-channel.ts';
import type { Outgoing } from './outbox.ts';
import { createStreams } from './streams.ts';
import type { Endpoint, Transport, TransportNeeds } from './transport.ts';

/** Failed connections in a row after which the server counts as gone. */
const maxFailures = 3;

/**
 * Streamable HTTP (MCP 2025-03-26 to 2025-11-25): each message is a POST, answered with JSON or with a
 * stream; what the server says unasked comes on the stream of a GET. Opens nothing by itself.
 */
export function createStreamable(endpoint: Endpoint, needs: TransportNeeds): Transport {
  const { server, url } = endpoint;
  const { http, log } = needs;
  const lifetime = new AbortController();
  let session: string | undefined;
  /** Undefined until the server has answered for the first time. */
  let failures: number | undefined;
  /** The server has opened a stream for a GET before. */
  let streamed = false;

  const link = createHttpChannel(endpoint, { ...needs, post });
  const streams = createStreams(endpoint, {
    ...needs,
    open: openStream,
    message: data => link.receive(data),
    oversized: (head, tail, bytes) => link.oversized(head, tail, bytes),
  });
  void link.channel.closed.then(() => lifetime.abort());

  function headers(own: Readonly<Record<string, string>>): Record<string, string> {
    const version = link.protocolVersion();
    return {
      ...endpoint.headers,
      ...own,
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(version !== undefined && { 'mcp-protocol-version': version }),
    };
  }

  async function post(message: Outgoing, signal: AbortSignal, sent: () => void): Promise<void> {
    const response = await deliver(message, signal, sent);
    if (message.method === 'initialize' && isSuccess(response))
      session = headerOf(response, 'mcp-session-id');
    if (!isSuccess(response)) await refused(message, response);
    else if (bodyKind(response) === 'events')
      await streams.follow(response, () => !awaits(message), signal);
    else if (bodyKind(response) === 'json') await takeJson(message, response);
    else await noAnswer(message, response);
    if (message.method === 'notifications/initialized') void hearServer();
  }

  async function deliver(
    message: Outgoing,
    signal: AbortSignal,
    sent: () => void,
  ): Promise<IncomingMessage> {
    try {
      const response = await http.request({
        method: 'POST',
        url,
        headers: headers({
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        }),
        body: message.bytes,
        signal,
        sent,
      });
      failures = 0;
      return response;
    } catch (error) {
      if (signal.aborted || !(error instanceof Error)) throw error;
      // A server that has never answered is not worth a second try of ours: it is launched again.
      if (failures === undefined || ++failures >= maxFailures) link.fail(error);
      throw error;
    }
  }

  const awaits = ({ id }: Outgoing) => id !== undefined && link.awaits(id);

  async function takeJson(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body, bytes } = await readBody(response, endpoint.maxLineBytes);
    if (!body) link.oversizedAnswer(message.id, bytes);
    else if (body.length > 0) link.receive(body);
    if (awaits(message)) throw unanswered('answered with JSON that is no answer to the request');
  }

  async function noAnswer(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body } = await readBody(response, maxErrorBytes);
    if (!awaits(message)) return;
    if (response.headers['content-type'] === undefined)
      throw unanswered(`took the request (${response.statusCode}) and sent no answer`);
    throw refusalOf(server, url, response, body);
  }

  function unanswered(what: string): HubError {
    return new HubError('HUB_SERVER_PROTOCOL', `${server} ${what}`, { data: { server } });
  }

  async function refused(message: Outgoing, response: IncomingMessage): Promise<void> {
    const { body } = await readBody(response, maxErrorBytes);
    // A server may answer the request and choose a status for it, such as 404 for an unknown method.
    if (body && message.id !== undefined && answers(body, message.id)) return link.receive(body);
    const error = refusalOf(server, url, response, body);
    if (response.statusCode === 404 && session !== undefined) sessionLost(error);
    throw error;
  }

  function sessionLost(cause: HubError): void {
    session = undefined;
    link.fail(
      new HubError('HUB_SERVER_DOWN', `${server} does not know the session any more`, {
        cause,
        data: { server, retryable: true },
      }),
    );
  }

  async function openStream(
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const response = await http.request({
      method: 'GET',
      url,
      headers: headers({
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      }),
      signal,
    });
    if (isSuccess(response) && bodyKind(response) === 'events') {
      streamed = true;
      return response;
    }
    const { body } = await readBody(response, maxErrorBytes);
    throw refusalOf(server, url, response, body);
  }

  /** Hears what the server says unasked, as long as the channel is open and if the server offers it. */
  async function hearServer(): Promise<void> {
    try {
      await streams.follow(undefined, () => lifetime.signal.aborted, lifetime.signal);
    } catch (error) {
      if (lifetime.signal.aborted || !(error instanceof HubError)) return;
      const { status } = error.data;
      if (status === undefined) link.fail(error);
      else if (status === 404 && streamed && session !== undefined) sessionLost(error);
      else log.debug({ server, status }, 'the server offers no stream of its own');
    }
  }

  return {
    channel: link.channel,
    async endSession(signal) {
      if (session === undefined) return;
      try {
        const response = await http.request({
          method: 'DELETE',
          url,
          headers: headers({}),
          signal,
        });
        await readBody(response, maxErrorBytes);
      } catch (error) {
        log.debug({ server, error: messageOf(error) }, 'the session could not be ended');
      }
    },
  };
}

function answers(body: Buffer, id: string): boolean {
  const message = readMessage(Buffer.from(body));
  return (
    message.kind === 'answer' &&
    message.id !== undefined &&
    rawText(message.bytes, message.id) === id
  );
}

function headerOf(response: IncomingMessage, name: string): string | undefined {
  const value = response.headers[name];
  return typeof value === 'string' ? value : undefined;
}
