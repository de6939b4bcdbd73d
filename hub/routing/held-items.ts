import { HubError, tryParseJson } from '#core';
import { readAnswer, membersOf, splice, stringAt } from '#jsonrpc';
import { type Server, heldKey } from '#servers';
import type { ResolvedCall } from './call.ts';

const kinds: ReadonlyMap<string, 'tool' | 'prompt'> = new Map([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
]);

/** Throws HUB_DEFINITION_HELD if the call uses an item of the server whose definition is not accepted. */
export function refuseHeld(
  { call, edits }: Pick<ResolvedCall, 'call' | 'edits'>,
  { held, config }: Pick<Server, 'held' | 'config'>,
): void {
  const kind = held && kinds.get(call.request.method);
  if (!kind) return;
  const span = call.params.get('name');
  // The edit of the name holds the server's own.
  const edit = edits.find(one => one.span === span);
  const name = edit ? tryParseJson(edit.text) : stringAt(call.request.bytes, span);
  if (typeof name !== 'string' || !held.has(heldKey(kind, name))) return;
  throw new HubError(
    'HUB_DEFINITION_HELD',
    `the definition of the ${kind} ${JSON.stringify(name)} of ${config.name} is not the one that was accepted, so it is not called. A person can look at it and accept it: agenthub pins accept ${config.name}`,
    { data: { server: config.name } },
  );
}

/** The answer to `initialize` or `server/discover`, without instructions that are not accepted. */
export function withoutHeldInstructions(bytes: Buffer, { held }: Pick<Server, 'held'>): Buffer {
  if (!held?.has(heldKey('instructions', ''))) return bytes;
  const { payload, failed } = readAnswer(bytes);
  const span = failed ? undefined : membersOf(bytes, payload)?.get('instructions');
  return span ? splice(bytes, [{ span, text: '""' }]) : bytes;
}
