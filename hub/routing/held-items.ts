import { HubError, tryParseJson } from '#core';
import { readAnswer, membersOf, splice, stringAt } from '#jsonrpc';
import { type Server, heldKey } from '#servers';
import type { ResolvedCall } from './call.ts';

const kinds: ReadonlyMap<string, 'tool' | 'prompt'> = new Map([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
]);

/** Throws HUB_DEFINITION_HELD if the call uses an item of the server whose current definition is not accepted. */
export function refuseHeld(
  { call, edits }: Pick<ResolvedCall, 'call' | 'edits'>,
  { held, config }: Pick<Server, 'held' | 'config'>,
): void {
  const kind = held && kinds.get(call.request.method);
  if (!kind) return;
  const span = call.params.get('name');
  // The edit of the name contains the server's own name.
  const edit = edits.find(one => one.span === span);
  const name = edit ? tryParseJson(edit.text) : stringAt(call.request.bytes, span);
  if (typeof name !== 'string' || !held.has(heldKey(kind, name))) return;
  throw new HubError(
    'HUB_DEFINITION_HELD',
    `the definition of the ${kind} ${JSON.stringify(name)} of ${config.name} is not the one that was accepted, so it is not called. A person can look at it and accept it: agenthub pins accept ${config.name}`,
    { data: { server: config.name } },
  );
}

/**
 * Removes instructions that are not accepted from an answer to `initialize` or `server/discover`. If the hub may
 * withhold definitions of this server, only the instructions that it got and compared itself stay. Throws
 * HUB_SERVER_PROTOCOL if the answer cannot be read.
 */
export function withoutHeldInstructions(
  bytes: Buffer,
  { held, mayHold, running }: Pick<Server, 'held' | 'mayHold'> & Partial<Pick<Server, 'running'>>,
): Buffer {
  const isHeld = held?.has(heldKey('instructions', '')) === true;
  if (!isHeld && !mayHold) return bytes;
  const { payload, failed } = readAnswer(bytes);
  if (failed) return bytes;
  const members = membersOf(bytes, payload);
  if (!members)
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      'the server answered with a member that stands twice',
    );
  const span = members.get('instructions');
  const isKnown = stringAt(bytes, span) === running?.serverInfo.instructions;
  return span && (isHeld || !isKnown) ? splice(bytes, [{ span, text: '""' }]) : bytes;
}
