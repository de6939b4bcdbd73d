import { type Canonical, textsOf } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { rowsOf } from './words.ts';

/**
 * Pronouns for different things, a row for each thing. "I", "we" and "you" are compared in `persons.ts` by what they
 * do.
 */
const kinds: ReadonlyMap<string, string> = new Map(
  rowsOf(
    `he him his himself | she her hers herself | they them their theirs themselves | it its itself | my mine |
    your yours | our ours | this | that | these | those | someone somebody | everyone everybody | anyone anybody |
    nobody | something | everything | anything | nothing`,
  ).flatMap(([first = '', ...rest]) => [first, ...rest].map(word => [word, first] as const)),
);

/**
 * True if pronouns swapped places and all other words did not: "he said she was late" and "she said he was late", "move
 * this to that" and "move that to this".
 */
export function isOtherPronounOrder(a: Canonical, b: Canonical): boolean {
  const [left, right] = [textsOf(a), textsOf(b)];
  const [mine, theirs] = [pronounsIn(left), pronounsIn(right)];
  if (new Set(mine).size < 2 || mine.join() === theirs.join()) return false;
  if (mine.toSorted().join() !== theirs.toSorted().join()) return false;
  return contentOf(left).join(' ') === contentOf(right).join(' ');
}

const pronounsIn = (texts: readonly string[]): readonly string[] =>
  texts.flatMap(text => kinds.get(text) ?? []);

const contentOf = (texts: readonly string[]): readonly string[] =>
  texts
    .filter(text => /^[\p{L}\d]/u.test(text) && !closed.has(text) && !kinds.has(text))
    .map(text => vocabulary().stem(text).stem);
