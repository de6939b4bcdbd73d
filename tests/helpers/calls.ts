import assert from 'node:assert/strict';
import type { HubError } from '#core';
import { type Answer, type Request, type Span, rawText, replace } from '#jsonrpc';
import type { CallPermit, ServerAdmission } from '#servers';

/** Wraps a request to be relayed unchanged. The answer to the client has the id of that request. */
export const asBytes = (request: Request, progressToken?: Span) => ({
  request,
  edits: [],
  progressToken,
  answered: ({ bytes, id }: Answer) =>
    id ? replace(bytes, id, rawText(request.bytes, request.id)) : bytes,
  failed: (error: HubError) => error,
});

/** Returns the permit of a call, after waiting in the queue if necessary. */
export async function admitted(admission: ServerAdmission, owner: string): Promise<CallPermit> {
  const entered = admission.enter(owner);
  return 'permit' in entered ? await entered.permit : entered;
}

/** Returns the permit of a call. Fails if the call has to wait. */
export function admittedAtOnce(admission: ServerAdmission, owner: string): CallPermit {
  const entered = admission.enter(owner);
  return 'permit' in entered ? assert.fail('it waits') : entered;
}
