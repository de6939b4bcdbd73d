import type { Canonical } from './canonical.ts';
import { wordSet } from './words.ts';

/** Words that begin a movable part of a sentence. */
const heads =
  wordSet(`in on at for from to into with without before after by using via than of as when if
  while and or that then
  in im auf für von zu nach mit ohne vor wenn und oder
  dans en sur pour de avec sans avant après et ou
  para de a con sin y o`);

/** Words that join two interchangeable parts. */
const links = wordSet('and or und oder et ou y o');

/**
 * Finds the same words in an order with another meaning: "rename foo to bar" and "rename bar to foo", but not
 * "in Go, sort a list" and "sort a list in Go", where a whole part moved.
 */
export function differingOrder(a: Canonical, b: Canonical): string | undefined {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  if (sorted(left) !== sorted(right) || left.join(' ') === right.join(' ')) return undefined;
  return sorted(movable(a)) === sorted(movable(b)) ? undefined : 'the same words in another order';
}

const wordsOf = ({ head }: Canonical): readonly string[] =>
  head.map(({ text }) => text.toLowerCase());

const sorted = (items: readonly string[]) => items.toSorted().join('\n');

/** The movable parts, each with its words. */
function movable({ clauses }: Canonical): readonly string[] {
  return clauses.flatMap(clause => {
    const parts: string[] = [];
    for (const word of sortLinked(clause.map(({ text }) => text.toLowerCase()))) {
      const last = parts.length - 1;
      if (heads.has(word) || last < 0) parts.push(word);
      else parts[last] += ` ${word}`;
    }
    return parts;
  });
}

/** Sorts what `links` join: "b and a" becomes "a and b". */
function sortLinked(words: readonly string[]): readonly string[] {
  const turned = [...words];
  for (let at = 1; at < turned.length - 1; at++) {
    const [before = '', link = '', after = ''] = turned.slice(at - 1, at + 2);
    if (links.has(link) && after < before) turned.splice(at - 1, 3, after, link, before);
  }
  return turned;
}
