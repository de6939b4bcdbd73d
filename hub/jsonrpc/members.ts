import type { Span } from './scan.ts';
import { type Edit } from './spans.ts';

/** Members of an object as JSON text, by name. */
export type Members = Readonly<Record<string, string>>;

/**
 * Edits that set members of the object in `span`: existing values are replaced, new members are inserted first.
 * `present`: the result of `membersOf` for the object.
 */
export function setMembers(
  span: Span,
  present: ReadonlyMap<string, Span>,
  members: Members,
): readonly Edit[] {
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const [name, text] of Object.entries(members)) {
    const there = present.get(name);
    if (there) edits.push({ span: there, text });
    else added.push(`${JSON.stringify(name)}:${text}`);
  }
  if (added.length === 0) return edits;
  const at = span.start + 1;
  const text = `${added.join(',')}${present.size > 0 ? ',' : ''}`;
  return [{ span: { start: at, end: at }, text }, ...edits];
}

/** Edits that remove members from the object in `span`. */
export function dropMembers(
  bytes: Buffer,
  span: Span,
  present: ReadonlyMap<string, Span>,
  names: ReadonlySet<string>,
): readonly Edit[] {
  const edits: Edit[] = [];
  let isFirst = true;
  /** End of the previous member. */
  let from = span.start + 1;
  for (const [name, { end }] of present) {
    if (!names.has(name)) {
      // Also removes the comma after members that were removed before the first remaining one.
      if (isFirst && from > span.start + 1)
        edits.push({
          span: { start: span.start + 1, end: bytes.indexOf(0x2c, from) + 1 },
          text: '',
        });
      isFirst = false;
    } else if (!isFirst) edits.push({ span: { start: from, end }, text: '' });
    from = end;
  }
  return isFirst ? [{ span: { start: span.start + 1, end: from }, text: '' }] : edits;
}
