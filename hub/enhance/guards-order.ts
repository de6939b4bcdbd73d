import type { Canonical } from './canonical.ts';
import { wordSet } from './words.ts';

/** Words that begin a part of a sentence which can be moved as a whole. */
const heads =
  wordSet(`in on at for from to into with without before after by using via than of as when if
  while and or that then
  in im auf für von zu nach mit ohne vor wenn und oder
  dans en sur pour de avec sans avant après et ou
  para de a con sin y o`);

/** Words between two that may change places. */
const links = wordSet('and or und oder et ou y o');

/**
 * The same words in another order, where that is more than a part moved as a whole or two things named in
 * turn: "rename foo to bar" and "rename bar to foo", but not "in Go, sort a list" and "sort a list in Go".
 */
export function differingOrder(a: Canonical, b: Canonical): string | undefined {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  if (sorted(left) !== sorted(right) || left.join(' ') === right.join(' ')) return undefined;
  return sorted(movable(a)) === sorted(movable(b)) ? undefined : 'the same words in another order';
}

const wordsOf = ({ head }: Canonical): readonly string[] =>
  head.map(({ text }) => text.toLowerCase());

const sorted = (items: readonly string[]) => items.toSorted().join('\n');

/** The parts that can be moved as a whole. */
function movable({ clauses }: Canonical): readonly string[] {
  return clauses.flatMap(clause => {
    const parts: string[] = [];
    for (const word of inTurn(clause.map(({ text }) => text.toLowerCase()))) {
      const last = parts.length - 1;
      if (heads.has(word) || last < 0) parts.push(word);
      else parts[last] += ` ${word}`;
    }
    return parts;
  });
}

/** "b and a" as "a and b". */
function inTurn(words: readonly string[]): readonly string[] {
  const turned = [...words];
  for (let at = 1; at < turned.length - 1; at++) {
    const [before = '', link = '', after = ''] = turned.slice(at - 1, at + 2);
    if (links.has(link) && after < before) turned.splice(at - 1, 3, after, link, before);
  }
  return turned;
}
