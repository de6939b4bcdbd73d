import { type Edit, type Span, elementsOf, membersOf, splice, stringAt } from '#jsonrpc';
import { readAnswer } from '../bridge/send.ts';

/**
 * Replaces the URI of a resource in the answer to `resources/read`: in the contents, in which other URIs are
 * unchanged, and in the error for an unknown resource.
 */
export function withUri(bytes: Buffer, from: string, to: string): Buffer {
  const { payload, failed } = readAnswer(bytes);
  const members = membersOf(bytes, payload);
  const named = failed ? [members?.get('data')] : elementsOf(bytes, members?.get('contents'));
  const text = JSON.stringify(to);
  const edits = named.flatMap((object: Span | undefined): readonly Edit[] => {
    const span = membersOf(bytes, object)?.get('uri');
    return span && stringAt(bytes, span) === from ? [{ span, text }] : [];
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}
