import type { Canonical } from './canonical.ts';
import type { Kind, Token } from './canonical-tokens.ts';
import { names } from './words-names.ts';
import { isOpener } from './words.ts';

/** Kinds of tokens that both prompts must share, with their names in messages. */
const facts: readonly (readonly [Kind, string])[] = [
  ['number', 'numbers'],
  ['path', 'paths'],
  ['identifier', 'identifiers'],
  ['quote', 'quoted texts'],
  ['name', 'names'],
  ['sign', 'signs'],
];

/** Signs without a meaning in prose. */
const plainSigns = new Set(['-', '*', '(', ')', '->']);

/**
 * Finds a difference in facts: numbers with their units, versions, paths, identifiers, quotations, names, operators,
 * and the payload.
 */
export function differingFacts(a: Canonical, b: Canonical): string | undefined {
  for (const [kind, called] of facts) {
    const [left, right] = [factsOf(a, kind), factsOf(b, kind)];
    const [mine, theirs] = [without(left, right), without(right, left)];
    if (mine.length || theirs.length)
      return `other ${called}: ${mine.join(', ') || 'none'} and ${theirs.join(', ') || 'none'}`;
    if (kind === 'identifier' && left.join('\n') !== right.join('\n'))
      return `identifiers in another order: ${left.join(', ')} and ${right.join(', ')}`;
  }
  const [mine, theirs] = [capitals(a, b), capitals(b, a)];
  if (mine.length && theirs.length && !isGerman(a, b))
    return `other names: ${mine.join(', ')} and ${theirs.join(', ')}`;
  if (a.payloadText !== '' && b.payloadText !== '' && lettersOf(a.payload) !== lettersOf(b.payload))
    return 'the same kind of request about another text';
  return undefined;
}

function factsOf({ head, payload }: Canonical, kind: Kind): readonly string[] {
  return [...head, ...payload]
    .map(asName)
    .filter(token => token.kind === kind && !(kind === 'sign' && plainSigns.has(token.text)))
    .map(({ text }) => text);
}

/** Reads "Java's" as the name Java. */
function asName(token: Token): Token {
  const name = token.kind === 'word' && names.get(token.text.replace(/'s$/, '').toLowerCase());
  return name ? { kind: 'name', text: name } : token;
}

/** The items that are more frequent in the first list. */
function without(items: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const other of others) left.set(other, (left.get(other) ?? 0) + 1);
  return items.filter(item => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count <= 0;
  });
}

/** Capitalized words that the other text does not have in any spelling. */
function capitals(a: Canonical, b: Canonical): readonly string[] {
  const theirs = new Set(b.head.map(({ text }) => text.toLowerCase()));
  return a.head
    .filter(({ kind, text }) => kind === 'word' && /^\p{Lu}/u.test(text))
    .map(({ text }) => text)
    .filter(text => !theirs.has(text.toLowerCase()) && !isOpener(text.toLowerCase()));
}

/** German capitalizes all nouns. */
const isGerman = (a: Canonical, b: Canonical) => a.language === 'de' || b.language === 'de';

const lettersOf = (tokens: readonly Token[]) =>
  tokens.map(({ text }) => text.toLowerCase()).join(' ');
