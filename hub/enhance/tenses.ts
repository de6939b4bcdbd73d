import { type Canonical, textsOf } from './canonical.ts';
import { wordSet } from './words.ts';

const past = wordSet('was were did had');
const present = wordSet('is are am do does has have');

/** Whether one prompt asks about the past and the other one about the present: "what was" and "what is". */
export function isOtherTense(a: Canonical, b: Canonical): boolean {
  const [mine, theirs] = [tenseOf(a), tenseOf(b)];
  return mine !== undefined && theirs !== undefined && mine !== theirs;
}

/** The tense of all auxiliary verbs; undefined if there are none, or of both. */
function tenseOf(canonical: Canonical): 'past' | 'present' | undefined {
  const texts = textsOf(canonical);
  const isPast = texts.some(text => past.has(text));
  if (isPast === texts.some(text => present.has(text))) return undefined;
  return isPast ? 'past' : 'present';
}

const questions = wordSet('what which when where who why how');
const duties = wordSet('should must');
const persons = wordSet('i we you one');

/** "what does it return" asks for a fact, "what should it return" for a wish; "what do I do" asks for both. */
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
