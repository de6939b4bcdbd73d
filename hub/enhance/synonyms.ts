import { vocabulary } from './phrases.ts';
import type { Spots } from './spots.ts';

/**
 * Returns a word that swapped places with its synonym. If a prompt has two synonyms, they mean different things:
 * "subtract the cost from the price" and "subtract the price from the cost".
 */
export function exchangedSynonym(a: Spots, b: Spots): string | undefined {
  const theirs = wordsOf(b);
  for (const [stem, words] of wordsOf(a)) {
    const others = theirs.get(stem) ?? [];
    const isSame = words.toSorted().join(' ') === others.toSorted().join(' ');
    const exchanged = isSame && words.find((word, at) => word !== others[at]);
    if (exchanged) return exchanged;
  }
  return undefined;
}

/** Returns the words of each group of synonyms, in the order of the prompt. */
const wordsOf = ({ spots }: Spots): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...Map.groupBy(spots, ({ stem }) => stem)].map(([stem, group]) => [
      stem,
      group.map(({ raw }) => vocabulary().stem(raw.toLowerCase()).stem),
    ]),
  );
