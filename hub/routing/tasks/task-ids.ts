import { type Span, membersOf, splice, stringAt } from '#jsonrpc';
import { metaKeys } from '#mcp';

/** The task that a message says it belongs to; `object` is its params or its result. */
export function relatedTaskIn(bytes: Buffer, object: Span | undefined): string | undefined {
  return stringAt(bytes, relatedSpan(bytes, membersOf(bytes, object)));
}

/**
 * A message in which a task has another id, wherever its params or its result name it: as `taskId`, in the
 * `task` that was made, and in the `_meta` of what belongs to it.
 */
export function withTaskId(
  bytes: Buffer,
  object: Span | undefined,
  from: string,
  to: string,
): Buffer {
  if (from === to) return bytes;
  const members = membersOf(bytes, object);
  const made = membersOf(bytes, members?.get('task'));
  const spans = [members?.get('taskId'), made?.get('taskId'), relatedSpan(bytes, members)];
  const text = JSON.stringify(to);
  return splice(
    bytes,
    spans.flatMap(span => (span && stringAt(bytes, span) === from ? [{ span, text }] : [])),
  );
}

function relatedSpan(
  bytes: Buffer,
  members: ReadonlyMap<string, Span> | undefined,
): Span | undefined {
  const related = membersOf(bytes, members?.get('_meta'))?.get(metaKeys.relatedTask);
  return membersOf(bytes, related)?.get('taskId');
}
