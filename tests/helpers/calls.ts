import assert from 'node:assert/strict';
import type { HubError } from '#core';
import { type Answer, type Request, type Span, rawText, replace } from '#jsonrpc';
import type { CallPermit, ServerAdmission } from '#servers';

/** A request to relay as it is. Its reply is the answer with its own id. */
export const asBytes = (request: Request, progressToken?: Span) => ({
  request,
  edits: [],
  progressToken,
  answered: ({ bytes, id }: Answer) =>
    id ? replace(bytes, id, rawText(request.bytes, request.id)) : bytes,
  failed: (error: HubError) => error,
});

/** The permit of a call, which may have to wait. */
export async function admitted(admission: ServerAdmission, owner: string): Promise<CallPermit> {
  const entered = admission.enter(owner);
  return 'permit' in entered ? await entered.permit : entered;
}

/** The permit of a call that need not wait. */
export function admittedAtOnce(admission: ServerAdmission, owner: string): CallPermit {
  const entered = admission.enter(owner);
  return 'permit' in entered ? assert.fail('it waits') : entered;
}
