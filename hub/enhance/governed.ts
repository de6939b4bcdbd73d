import type { Canonical } from './canonical.ts';
import { prepositions } from './lexemes.ts';
import { closed, vocabulary } from './phrases.ts';
import { rowsOf, wordSet } from './words.ts';

/** Prepositions before the same word that are two requests, whatever else explains the difference. */
const otherPairs = new Set(
  rowsOf(
    `for in | for at | at of | of through | by for | by of | by to | by from | by about | from to |
    from for | about by | about from | about with | in to | at to | of to`,
  ).map(pair => pair.toSorted().join(' ')),
);
/** Words that can stand behind many prepositions. */
const ranks = wordSet('own last next first same');
/** Words between a preposition and the word it governs. */
const maxDistance = 3;

/** A word behind another preposition: "approved by Maria" is not "approved for Maria". */
export function otherGoverned(a: Canonical, b: Canonical): string | undefined {
  const [mine, theirs] = [governedIn(a), governedIn(b)];
  for (const [word, heads] of mine) {
    const others = theirs.get(word);
    if (others?.size === 1 && heads.size === 1 && isOther(heads, others))
      return word.replace('~', '');
  }
  return undefined;
}

const isOther = (mine: ReadonlySet<string>, theirs: ReadonlySet<string>): boolean =>
  [...mine].every(one =>
    [...theirs].every(other => otherPairs.has([one, other].toSorted().join(' '))),
  );

/** For each word right behind a preposition, its prepositions. */
function governedIn({ tokens }: Canonical): ReadonlyMap<string, ReadonlySet<string>> {
  const texts = tokens.map(({ text }) => text.toLowerCase());
  const governed = new Map<string, Set<string>>();
  for (const [at, text] of texts.entries()) {
    const head = text === 'for' ? text : prepositions.get(text);
    if (head === undefined) continue;
    const word = texts
      .slice(at + 1, at + 1 + maxDistance)
      .find(item => (!closed.has(item) && !ranks.has(item)) || prepositions.has(item));
    if (word === undefined || prepositions.has(word)) continue;
    const { stem } = vocabulary().stem(word);
    governed.set(stem, (governed.get(stem) ?? new Set()).add(head));
  }
  return governed;
}
