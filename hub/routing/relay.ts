import { HubError } from '#core';
import { type Edit, type Request, type Span, membersOf, rawText, readMessage } from '#rpc';
import type { Caller, Running, Server } from '#servers';
import type { Exchange, SessionState } from './session.ts';

/** The members of a request's params. Throws HUB_REQUEST_INVALID where one stands twice. */
export function paramsOf(request: Request): ReadonlyMap<string, Span> {
  if (!request.params) return none;
  const params = membersOf(request.bytes, request.params);
  if (!params) throw twice('"params"');
  return params;
}

const none: ReadonlyMap<string, Span> = new Map();

const twice = (where: string) =>
  new HubError('HUB_REQUEST_INVALID', `a member of ${where} stands twice`);

/**
 * Passes a request to a server, which is started when it needs to be, and gives the bytes of its
 * answer. The request's bytes go on untouched but for its id, its progress token and the edits.
 */
export function relay(
  request: Request,
  params: ReadonlyMap<string, Span>,
  edits: readonly Edit[],
  server: Server,
  session: SessionState,
  exchange: Exchange,
): Promise<Buffer> {
  const id = rawText(request.bytes, request.id);
  if (session.inFlight.has(id))
    throw new HubError('HUB_REQUEST_INVALID', `the id ${id} is in use by a request in flight`);
  const outbound = { request, edits, progressToken: progressTokenOf(request, params) };
  const caller: Caller = {
    owner: session,
    related: bytes => exchange.related(bytes),
    settled: () => void session.inFlight.delete(id),
  };
  const send = ({ upstream }: Running): Promise<Buffer> => {
    const relayed = upstream.relay(outbound, caller, server.config.callTimeoutMs);
    session.inFlight.set(id, relayed);
    return relayed.answer;
  };
  return server.running ? send(server.running) : whenReady(id, server, session).then(send);
}

/** Waits for a server that starts. A client may cancel meanwhile: its request is not sent then. */
async function whenReady(id: string, server: Server, session: SessionState): Promise<Running> {
  const cancelled = Promise.withResolvers<never>();
  const cancel = () =>
    cancelled.reject(
      new HubError(
        'HUB_CALL_CANCELLED',
        `the client cancelled while ${server.config.name} started`,
        {
          data: { server: server.config.name },
        },
      ),
    );
  session.inFlight.set(id, { cancel });
  try {
    return await Promise.race([server.ready(), cancelled.promise]);
  } finally {
    session.inFlight.delete(id);
  }
}

/** True where a server's answer is a result and not an error. */
export function isResult(answer: Buffer): boolean {
  const message = readMessage(answer);
  return message.kind === 'answer' && !message.failed;
}

function progressTokenOf(request: Request, params: ReadonlyMap<string, Span>): Span | undefined {
  const meta = params.get('_meta');
  // What is no object holds no token, and is the server's to refuse.
  if (!meta || request.bytes[meta.start] !== 0x7b) return undefined;
  const members = membersOf(request.bytes, meta);
  if (!members) throw twice('"params._meta"');
  return members.get('progressToken');
}
