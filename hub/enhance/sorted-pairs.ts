import type { Chunk } from './clause-types.ts';

/** Sorts what "and" joins where nothing but the two words belongs to it: "cons and pros" is "pros and cons". */
export function sortedPairs(chunk: Chunk): Chunk {
  const terms = [...chunk.terms];
  for (let at = 1; at < terms.length - 1; at++) {
    const [before, left, link, right] = [terms[at - 2], ...terms.slice(at - 1, at + 2)];
    if (!left || !right || (link?.stem !== '&' && link?.stem !== 'or')) continue;
    const isAlone = before === undefined || before.isVerb || before.stem === 'difference';
    // In "to nuts and my partner eats pork", the second one is a subject.
    const isEnd = terms.length <= at + 3 && !terms[at + 2]?.isVerb;
    if (isAlone && isEnd && right.stem < left.stem) terms.splice(at - 1, 3, right, link, left);
  }
  return { ...chunk, terms };
}
