import { type Edit, type Span, splice } from '#jsonrpc';

/** Returns the arguments of a call with the edits of earlier steps; undefined if the call has no arguments. */
export function finalArguments(
  bytes: Buffer,
  span: Span | undefined,
  edits: readonly Edit[],
): Buffer | undefined {
  if (!span) return undefined;
  const { start, end } = span;
  const inside = edits.filter(edit => edit.span.start >= start && edit.span.end <= end);
  const moved = inside.map(({ span: at, text }) => ({
    span: { start: at.start - start, end: at.end - start },
    text,
  }));
  return splice(bytes.subarray(start, end), moved);
}
