import assert from 'node:assert/strict';
import type { HubError } from '#core';
import { type Answer, type Request, type Span, rawText, replace } from '#jsonrpc';
import type { Gate, Leave } from '#servers';

/** A request to relay as it is. Its reply is the answer with its own id. */
export const asBytes = (request: Request, progressToken?: Span) => ({
  request,
  edits: [],
  progressToken,
  answered: ({ bytes, id }: Answer) =>
    id ? replace(bytes, id, rawText(request.bytes, request.id)) : bytes,
  failed: (error: HubError) => error,
});

/** Leave for a call, which may have to wait. */
export async function admitted(gate: Gate, owner: string): Promise<Leave> {
  const entered = gate.enter(owner);
  return 'leave' in entered ? await entered.leave : entered;
}

/** Leave for a call that need not wait. */
export function admittedAtOnce(gate: Gate, owner: string): Leave {
  const entered = gate.enter(owner);
  return 'leave' in entered ? assert.fail('it waits') : entered;
}
