import { canonicalArguments } from '#approvals';
import { splice } from '#jsonrpc';
import type { ResolvedCall } from '../call.ts';

/**
 * Returns the arguments that the server of a call will get, with the edits of earlier steps, as canonical JSON. Throws
 * HUB_REQUEST_INVALID if they have no canonical form.
 */
export function finalArguments({ call, edits }: Pick<ResolvedCall, 'call' | 'edits'>): string {
  const span = call.params.get('arguments');
  if (!span) return '{}';
  const { start, end } = span;
  const moved = edits
    .filter(edit => edit.span.start >= start && edit.span.end <= end)
    .map(({ span: at, text }) => ({
      span: { start: at.start - start, end: at.end - start },
      text,
    }));
  return canonicalArguments(splice(call.request.bytes.subarray(start, end), moved));
}
