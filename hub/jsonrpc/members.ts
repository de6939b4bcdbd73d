import type { Span } from './scan.ts';
import { type Edit } from './spans.ts';

/** Members to stand in an object, by name, as JSON text. */
export type Members = Readonly<Record<string, string>>;

/**
 * The edits after which the object in `span` has these members: the values of those that it has are
 * replaced, the others are put first. `present` is what `membersOf` tells of the object.
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

/** The edits that take these members out of the object in `span`; what else stands in it stays as it is. */
export function dropMembers(
  bytes: Buffer,
  span: Span,
  present: ReadonlyMap<string, Span>,
  names: ReadonlySet<string>,
): readonly Edit[] {
  const edits: Edit[] = [];
  let isFirst = true;
  /** The end of the member before. */
  let from = span.start + 1;
  for (const [name, { end }] of present) {
    if (!names.has(name)) {
      // Without the comma after what was dropped before the first that stays.
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
