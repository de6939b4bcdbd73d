import type { Canonical } from './canonical.ts';
import type { Kind, Token } from './canonical-tokens.ts';
import { names } from './words-names.ts';
import { isOpener } from './words.ts';

/** Kinds of pieces that must be the same ones on both sides, with what they are called. */
const facts: readonly (readonly [Kind, string])[] = [
  ['number', 'numbers'],
  ['path', 'paths'],
  ['identifier', 'identifiers'],
  ['quote', 'quoted texts'],
  ['name', 'names'],
  ['sign', 'signs'],
];

/** Signs that carry no meaning in prose. */
const plainSigns = new Set(['-', '*', '(', ')', '->']);

/**
 * A difference in what must be taken over as it is: numbers with their units, versions, paths,
 * identifiers, quotations, names, operators, and the text that a prompt is about.
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

/** "Java's" names Java. */
function asName(token: Token): Token {
  const name = token.kind === 'word' && names.get(token.text.replace(/'s$/, '').toLowerCase());
  return name ? { kind: 'name', text: name } : token;
}

/** What is in the first more often than in the second. */
function without(items: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const other of others) left.set(other, (left.get(other) ?? 0) + 1);
  return items.filter(item => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count <= 0;
  });
}

/** Words with a capital letter that the other text has in no spelling. */
function capitals(a: Canonical, b: Canonical): readonly string[] {
  const theirs = new Set(b.head.map(({ text }) => text.toLowerCase()));
  return a.head
    .filter(({ kind, text }) => kind === 'word' && /^\p{Lu}/u.test(text))
    .map(({ text }) => text)
    .filter(text => !theirs.has(text.toLowerCase()) && !isOpener(text.toLowerCase()));
}

/** In German a capital letter does not make a name. */
const isGerman = (a: Canonical, b: Canonical) => a.language === 'de' || b.language === 'de';

const lettersOf = (tokens: readonly Token[]) =>
  tokens.map(({ text }) => text.toLowerCase()).join(' ');
