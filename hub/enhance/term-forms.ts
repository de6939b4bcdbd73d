import type { Term } from './clause-types.ts';
import { vocabulary } from './phrases.ts';

/** Whether two terms with one stem say the same: in number where it matters, in tense and in capitals. */
export function isSameForm(a: Term, b: Term, hasPast: boolean): boolean {
  // "user" may be a variable and "User" a type.
  const isWord = a.stem.endsWith('~') && !vocabulary().plain.has(a.stem);
  if (isWord && a.raw.toLowerCase() === b.raw.toLowerCase() && a.raw !== b.raw) return false;
  const forms = new Set([a.form, b.form]);
  if (forms.size === 1) return true;
  if (forms.has('ing')) return !forms.has('ed') && !forms.has('passive');
  if (forms.has('passive')) return forms.has('ed');
  // "did it fail" and "it failed", but not "fails" and "failed".
  if (forms.has('ed')) return hasPast;
  return !(forms.has('s') && forms.has('plain') && a.isDefinite && b.isDefinite);
}
