import type { Term } from './clause-types.ts';
import { vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const containers = wordSet(
  `bag barrel basket bottle bowl box bucket can carton case crate cup glass jar jug mug packet pan pitcher plate pot
  sack spoon tank tin tub`,
);

/** True for containers, whose "of" means a content: "a glass of wine" is not "a wine glass". */
export const isContainer = ({ raw }: Pick<Term, 'raw'>): boolean =>
  containers.has(raw.toLowerCase().replace(/(?<=[xs])es$|(?<!s)s$/, ''));

/** True if two terms with one stem agree in number (where it matters), tense and capitals. */
export function isSameForm(a: Term, b: Term, hasPast: boolean): boolean {
  // "user" may be a variable and "User" a type, so case matters.
  const isWord = a.stem.endsWith('~') && !vocabulary().plain.has(a.stem);
  if (isWord && a.raw.toLowerCase() === b.raw.toLowerCase() && a.raw !== b.raw) return false;
  const forms = new Set([a.form, b.form]);
  if (forms.size === 1) return true;
  if (forms.has('ing')) return !forms.has('ed') && !forms.has('passive');
  if (forms.has('passive')) return forms.has('ed');
  // "did it fail" is "it failed", but "fails" is not "failed".
  if (forms.has('ed')) return hasPast;
  return !(forms.has('s') && forms.has('plain') && a.isDefinite && b.isDefinite);
}
