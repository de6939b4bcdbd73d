import { diff } from 'node:util';
import type { DefinitionMembers } from './definition.ts';
import { visible } from './visible.ts';

/** A line of the diff between two definitions. Invisible characters are shown as codes. */
export type DefinitionLine = { readonly sign: '-' | '+' | ' '; readonly text: string };

/** Maximum number of lines of a definition that are compared, starting at the first difference. */
const maxLines = 2_000;
/** Number of unchanged lines shown around a change. */
const contextLines = 3;
/** Splits lines into pieces of at most 2,000 characters, which are shown as lines. */
const pieces = /.{1,2000}/gsu;

/** Returns the diff of two definitions; an absent one has no lines. A last line gives the number of omitted lines. */
export function diffDefinitions(
  before: DefinitionMembers | undefined,
  after: DefinitionMembers | undefined,
): readonly DefinitionLine[] {
  const [old, now] = withoutEnds(linesOf(before), linesOf(after));
  const compared = diff(old.slice(0, maxLines), now.slice(0, maxLines));
  const lines = compared.map(([operation, text]): DefinitionLine => ({
    // In results of Node's `diff`, 1 marks a line of the first value only.
    sign: operation === 0 ? ' ' : operation === 1 ? '-' : '+',
    text: visible(text),
  }));
  const isNear = (index: number) =>
    lines
      .slice(Math.max(0, index - contextLines), index + contextLines + 1)
      .some(({ sign }) => sign !== ' ');
  return [
    ...lines.filter((_, index) => isNear(index)),
    ...restOf('-', old.length),
    ...restOf('+', now.length),
  ];
}

/** Removes equal lines at both ends, except the context of the first and last change. */
function withoutEnds(before: readonly string[], after: readonly string[]) {
  const start = Math.max(0, countEqual(before, after) - contextLines);
  const [old, now] = [before.slice(start), after.slice(start)];
  const end = Math.max(0, countEqual(old.toReversed(), now.toReversed()) - contextLines);
  return [old.slice(0, old.length - end), now.slice(0, now.length - end)] as const;
}

/** Counts the equal lines at the start. */
function countEqual(some: readonly string[], others: readonly string[]): number {
  const first = some.findIndex((line, index) => line !== others[index]);
  return first < 0 ? some.length : first;
}

const restOf = (sign: DefinitionLine['sign'], count: number): readonly DefinitionLine[] =>
  count > maxLines ? [{ sign, text: `… and ${count - maxLines} more lines` }] : [];

const linesOf = (value: DefinitionMembers | undefined): readonly string[] =>
  Object.entries(value ?? {})
    .flatMap(([member, inner]) =>
      typeof inner === 'string'
        ? [`${member}:`, ...inner.split('\n').map(line => `  ${line}`)]
        : JSON.stringify({ [member]: inner }, undefined, 2)
            .split('\n')
            .slice(1, -1)
            .map(line => line.slice(2)),
    )
    .flatMap(line => line.match(pieces) ?? ['']);
