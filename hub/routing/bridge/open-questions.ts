import { type Span, encodeResult, errorAnswer, rawText } from '#jsonrpc';
import type { ForwardedRequest, ServerConnection, ServerRequest } from '#upstream';
import type { SuspendedCall } from './suspended-call-types.ts';

/** Returns the server's own id of its request, as JSON text. */
const idOf = ({ request }: ServerRequest): string => rawText(request.bytes, request.id);

export const refuse = (serverRequest: ServerRequest, error: unknown): void =>
  serverRequest.answer(errorAnswer(idOf(serverRequest), error));

const openingBrace = 0x7b;

/** Keeps the server's requests that the client has not answered, by their keys in `inputRequests`. */
export function createOpenQuestions() {
  const open = new Map<string, ForwardedRequest>();
  let lastKey = 0;

  return {
    get size(): number {
      return open.size;
    },
    add(question: ForwardedRequest): void {
      open.set(String(++lastKey), question);
    },
    /** Returns `inputRequests` of the result for the client, as JSON text. */
    inputRequests(): string {
      const members = [...open].map(([key, { request }]) => {
        // The Go SDK (1.8.0) refuses results with a question without params, though `roots/list` needs none.
        const params = request.params ? rawText(request.bytes, request.params) : '{}';
        return `"${key}":{"method":${JSON.stringify(request.method)},"params":${params}}`;
      });
      return `{${members.join(',')}}`;
    },
    /**
     * Sends the client's answers to the server. `responses`: spans of `bytes` by the key of the question. Ignores an
     * answer that is no object (MCP 2026-07-28, InputResponses): servers could not read it.
     */
    answer(bytes: Buffer, responses: ReadonlyMap<string, Span>): void {
      for (const [key, question] of Array.from(open)) {
        const span = responses.get(key);
        if (!span || bytes[span.start] !== openingBrace) continue;
        open.delete(key);
        question.answer(encodeResult(idOf(question), rawText(bytes, span)));
      }
    },
    /** Refuses the question with this id on this connection. `serverId`: JSON text. */
    refuse(connection: ServerConnection, serverId: string, error: unknown): void {
      for (const [key, question] of Array.from(open)) {
        if (question.connection !== connection || idOf(question) !== serverId) continue;
        open.delete(key);
        refuse(question, error);
      }
    },
    refuseAll(error: unknown): void {
      for (const question of open.values()) refuse(question, error);
      open.clear();
    },
    /** Removes and returns all questions, so that other calls of the client can ask them. */
    takeAll(): readonly ForwardedRequest[] {
      const taken = [...open.values()];
      open.clear();
      return taken;
    },
  };
}

/**
 * Chooses the call whose result asks the client a question that may belong to any of its calls. Prefers the oldest
 * call without an open question, because servers mostly ask in the order of the calls.
 */
export const carrierOf = (
  calls: readonly SuspendedCall[],
  otherwise: SuspendedCall,
): SuspendedCall =>
  calls.find(({ mayAsk, isAway, hasOpenRequest }) => mayAsk && !isAway && !hasOpenRequest) ??
  calls.find(({ mayAsk, isAway }) => mayAsk && !isAway) ??
  calls.find(({ mayAsk }) => mayAsk) ??
  otherwise;
