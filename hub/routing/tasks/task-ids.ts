import { type Span, membersOf, splice, stringAt } from '#jsonrpc';
import { metaKeys } from '#mcp';

/** The id of the task that a message belongs to; `object` is the params or the result of the message. */
export function relatedTaskIn(bytes: Buffer, object: Span | undefined): string | undefined {
  return stringAt(bytes, relatedSpan(bytes, membersOf(bytes, object)));
}

/**
 * Replaces the id of a task in the params or the result of a message: in `taskId`, in the created `task`, and in the
 * `_meta` of related messages.
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
