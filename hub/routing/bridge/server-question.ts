import { errorAnswer, rawText } from '#jsonrpc';
import type { ServerRequest } from '#upstream';

/** Returns the server's own id of its request, as JSON text. */
export const idOf = ({ request }: ServerRequest): string => rawText(request.bytes, request.id);

export const refuse = (serverRequest: ServerRequest, error: unknown): void =>
  serverRequest.answer(errorAnswer(idOf(serverRequest), error));
