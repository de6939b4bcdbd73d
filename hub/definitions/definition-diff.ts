import { diff } from 'node:util';
import type { DefinitionMembers } from './definition.ts';
import { visible } from './visible.ts';

/** A line of the difference between two definitions. Unseen characters are shown as their codes. */
export type DefinitionLine = { readonly sign: '-' | '+' | ' '; readonly text: string };

/** Maximum number of lines of a definition that are compared. */
const maxLines = 2_000;
const maxCharacters = 2_000;
/** Unchanged lines around a change. */
const contextLines = 3;

/** The difference between two definitions; an absent one has no lines. */
export function diffDefinitions(
  before: DefinitionMembers | undefined,
  after: DefinitionMembers | undefined,
): readonly DefinitionLine[] {
  const lines = diff(linesOf(before), linesOf(after)).map(([operation, text]): DefinitionLine => ({
    // In the result of Node, 1 stands for a line of the first value only.
    sign: operation === 0 ? ' ' : operation === 1 ? '-' : '+',
    text,
  }));
  const isNear = (index: number) =>
    lines
      .slice(Math.max(0, index - contextLines), index + contextLines + 1)
      .some(({ sign }) => sign !== ' ');
  return lines.filter((_, index) => isNear(index));
}

function linesOf(value: DefinitionMembers | undefined): string[] {
  const lines = Object.entries(value ?? {}).flatMap(([member, inner]) =>
    typeof inner === 'string'
      ? [`${member}:`, ...inner.split('\n').map(line => `  ${line}`)]
      : JSON.stringify({ [member]: inner }, undefined, 2)
          .split('\n')
          .slice(1, -1)
          .map(line => line.slice(2)),
  );
  return lines.slice(0, maxLines).map(line => visible(line.slice(0, maxCharacters)));
}
