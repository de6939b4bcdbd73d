import { type Answer, type Edit, rawText, readMessage } from '#rpc';
import type { Running, Server } from '#servers';
import { type Call, needWanted } from './call.ts';

/** Sends a request as it is, on behalf of its session. */
export function pass(
  call: Call,
  edits: readonly Edit[],
  { config }: Server,
  { upstream }: Running,
): Promise<Buffer> {
  const { request, id, session, exchange } = call;
  needWanted(call);
  const progressToken = call.meta?.get('progressToken');
  const relayed = upstream.relay(
    { request, id, edits, progressToken },
    {
      owner: session,
      exchange,
      progressToken: progressToken && rawText(request.bytes, progressToken),
      seen: call.seen,
    },
    config.callTimeoutMs,
  );
  call.flight = relayed;
  return relayed.answer;
}

/** Reads an answer that the hub must look into. Throws where it is none: only a bug comes here. */
export function readAnswer(bytes: Buffer): Answer {
  const message = readMessage(bytes);
  if (message.kind !== 'answer') throw new TypeError('an answer was expected');
  return message;
}

/** True where a server's answer is a result and not an error. */
export function isResult(answer: Buffer): boolean {
  return !readAnswer(answer).failed;
}
