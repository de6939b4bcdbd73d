import { type Canonical, textsOf } from './canonical.ts';
import { wordSet } from './words.ts';

const past = wordSet('was were did had');
const present = wordSet('is are am do does has have');
const future = wordSet('will shall');

const relatives = wordSet('who that which');

/** True if two prompts have different tenses. Present and future count as one tense, and so do present and perfect. */
export function isOtherTense(a: Canonical, b: Canonical): boolean {
  const [left, right] = [textsOf(a), textsOf(b)];
  if (isDoneAndIs(left, right) || isDoneAndIs(right, left)) return true;
  const tenses = new Set([tenseOf(left), tenseOf(right)]);
  if (tenses.size === 1 || tenses.has(undefined)) return false;
  // "what will it print" is "what does it print", and "has it been done" is "is it done".
  return tenses.has('past') || !tenses.has('present');
}

/** Returns the tense of the auxiliary verbs; undefined if there are none, or both past and present. */
function tenseOf(texts: readonly string[]): 'past' | 'perfect' | 'present' | 'future' | undefined {
  const [isPast, isPresent, isFuture] = [past, present, future].map(words =>
    texts.some(text => words.has(text)),
  );
  if (isPast && isPresent) return undefined;
  // "what was it, and what will it be" counts as past, too.
  if (isPast) return 'past';
  if (isPresent) return texts.includes('been') ? 'perfect' : 'present';
  return isFuture ? 'future' : undefined;
}

/** True if one prompt has "users who logged in", and the other "users who are logged in". */
function isDoneAndIs(done: readonly string[], is: readonly string[]): boolean {
  const actions = done.filter(
    (text, at) => relatives.has(done[at - 1] ?? '') && text.endsWith('ed'),
  );
  return is.some(
    (text, at) =>
      actions.includes(text) &&
      /^(?:is|are)$/.test(is[at - 1] ?? '') &&
      relatives.has(is[at - 2] ?? ''),
  );
}

const questions = wordSet('what which when where who why how');
const duties = wordSet('should must');
const persons = wordSet('i we you one');

/** True for "what should it return" (a wish) and "what does it return" (a fact). "what do I do" may be either. */
export const isOtherDuty = (a: Canonical, b: Canonical): boolean =>
  (asksDuty(a) && asksFact(b)) || (asksDuty(b) && asksFact(a));

function asksDuty(canonical: Canonical): boolean {
  const texts = textsOf(canonical);
  const at = texts.findIndex(text => duties.has(text));
  return (
    at > 0 &&
    texts.slice(0, at).some(text => questions.has(text)) &&
    !persons.has(texts[at + 1] ?? '') &&
    !texts.includes('be')
  );
}

const asksFact = (canonical: Canonical): boolean => {
  const texts = textsOf(canonical);
  return (
    !texts.some(text => duties.has(text)) && texts.some(text => present.has(text) || past.has(text))
  );
};
