import type { IncomingMessage } from 'node:http';
import { HubError, messageOf, withoutSecrets } from '#core';
import { RpcError, rpcCodes } from '#jsonrpc';
import { isSuccess, maxErrorBytes, readBody, refusalOf, requestEvents } from './answers.ts';
import { endsConnection } from './authorized-client.ts';
import { createHttpChannel } from './http-channel.ts';
import type { Outgoing } from './outbox.ts';
import type { RemoteEndpoint, Transport, TransportNeeds } from './http-client.ts';

/**
 * Connects by HTTP with SSE (MCP 2024-11-05): one stream contains all messages of the server, and its first event the
 * URL for messages to the server. Resolves after that event. The stream is the session: the channel closes when the
 * stream ends.
 */
export async function openSse(
  endpoint: RemoteEndpoint,
  needs: TransportNeeds,
  signal: AbortSignal,
): Promise<Transport> {
  const { server, url } = endpoint;
  const lifetime = new AbortController();
  const link = createHttpChannel(endpoint, { ...needs, post, tellsWhose: false });
  const { promise: target, resolve: found, reject: refuse } = Promise.withResolvers<URL>();
  target.catch(() => {}); // Handled below. Without a waiting message the error does not matter.
  void link.channel.closed.then(() => lifetime.abort());

  async function post(message: Outgoing, ending: AbortSignal, sent: () => void): Promise<void> {
    // Messages of 2026-07-28 are refused here: a server of 2024-11-05 might never answer them.
    if (message.claimed !== undefined)
      throw new RpcError(
        rpcCodes.methodNotFound,
        'HUB_SERVER_PROTOCOL',
        `${server} is reached over HTTP with SSE, which MCP ${message.claimed} does not have. Set "transport" to "http" if it speaks that`,
        { server },
      );
    const version = link.protocolVersion();
    const address = await target;
    const headers = {
      ...endpoint.headers,
      'content-type': 'application/json',
      ...(version !== undefined && { 'mcp-protocol-version': version }),
    };
    const request = { method: 'POST', url: address, headers, body: message.bytes } as const;
    const response = await needs.http
      .request({ ...request, signal: ending, sent })
      .catch((error: unknown) => {
        if (error instanceof HubError && endsConnection(error)) link.fail(error);
        throw error;
      });
    const { body } = await readBody(endpoint, response, maxErrorBytes);
    if (isSuccess(response)) return;
    const error = refusalOf(endpoint, address, response, body);
    // The URL belongs to this session, so the session has ended.
    if (response.statusCode === 404) link.fail(error);
    throw error;
  }

  async function read(stream: IncomingMessage): Promise<void> {
    let cause: unknown;
    try {
      await link.read(stream, undefined, {
        event({ type, data }) {
          if (type === 'endpoint') locate(data.toString('utf8').trim());
        },
      });
    } catch (error) {
      cause = error;
    }
    const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
    const error = new HubError('HUB_SERVER_DOWN', `${server} ended its event stream${why}`, {
      cause,
      data: { server, retryable: true },
    });
    refuse(error);
    link.fail(error);
  }

  function locate(address: string): void {
    const named = URL.parse(address, url.href);
    // The URL must have the same origin, because the headers of the entry are sent there.
    if (named?.origin === url.origin) return found(named);
    const where = named ? withoutSecrets(named) : 'an address that is not a URL';
    const problem = `${server} wants its messages at ${where}, which is not on ${url.origin}`;
    refuse(new HubError('HUB_SERVER_PROTOCOL', problem, { data: { server } }));
  }

  const abort = () => lifetime.abort(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    const headers = { ...endpoint.headers, accept: 'text/event-stream' };
    void read(await requestEvents(endpoint, needs.http, headers, lifetime.signal));
    await target;
    return { channel: link.channel, async endSession() {} };
  } catch (error) {
    link.channel.close('it did not open');
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
