import { isObject } from '#core';
import { type Answer, type Edit, rawText, readMessage, rpcCodes, valueOf } from '#rpc';
import type { Running, Server } from '#servers';
import type { Caller } from '#upstream';
import { type Call, needWanted } from './call.ts';
import { adviseEra } from './era-advice.ts';
import { returned, sent } from './observer.ts';
import { type Pages, keepPages } from './url-elicitation.ts';

/**
 * Sends a request as it is, on behalf of its session. A call whose headers a server refuses is sent once
 * more: its tools want others than the hub knew of (MCP 2026-07-28, `x-mcp-header`).
 */
export function pass(
  call: Call,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  pages: Pages,
): Promise<Buffer> {
  const seen = seenBy(call, server, running, pages);
  const isOverHttp =
    running.introduction.era === 'modern' && server.config.launch.kind === 'remote';
  if (!isOverHttp || call.request.method !== 'tools/call')
    return send(call, edits, server, running, seen);
  let isRefused = false;
  const first = send(call, edits, server, running, answer => {
    isRefused = isHeaderMismatch(answer);
    seen?.(answer);
  });
  return first.then(async bytes => {
    if (!isRefused) return bytes;
    await server.refresh('tool');
    return await send(call, edits, server, running, seen);
  });
}

/**
 * What sees the answer first, and by that how long it took. A refusal may name pages, whose end is told to
 * nobody else later.
 */
function seenBy(
  call: Call,
  server: Server,
  { introduction }: Running,
  pages: Pages,
): Caller['seen'] {
  const { session, seen } = call;
  const isLegacy = introduction.era === 'legacy';
  return answer => {
    returned(call, answer);
    if (isLegacy && answer.failed) keepPages(answer, server, session, pages);
    else if (!isLegacy && call.outcome !== 'ok') adviseEra(answer, server);
    seen?.(answer, server);
  };
}

function isHeaderMismatch({ failed, bytes, payload }: Answer): boolean {
  const error = failed ? valueOf(bytes, payload) : undefined;
  return isObject(error) && error['code'] === rpcCodes.headerMismatch;
}

function send(
  call: Call,
  edits: readonly Edit[],
  { config }: Server,
  { upstream }: Running,
  seen: Caller['seen'],
): Promise<Buffer> {
  const { request, id, session, exchange } = call;
  needWanted(call);
  const progressToken = call.meta?.get('progressToken');
  sent(call);
  const relayed = upstream.relay(
    { request, id, edits, progressToken },
    {
      owner: session,
      exchange,
      progressToken: progressToken && rawText(request.bytes, progressToken),
      seen,
    },
    config.callTimeoutMs,
    call.waitedMs,
  );
  call.flight = relayed;
  call.wasSent = true;
  return relayed.answer;
}

/** Reads an answer that the hub must look into. Throws where it is none: only a bug comes here. */
export function readAnswer(bytes: Buffer): Answer {
  const message = readMessage(bytes);
  if (message.kind !== 'answer') throw new TypeError('an answer was expected');
  return message;
}
