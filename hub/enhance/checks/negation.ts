import { negators, requests, wordSet } from '../words.ts';
import { alikeTo, contentWords, lowerWords, proseOf } from './text.ts';

/** The words that a negation refers to. */
type Scope = readonly string[];

/** Words that can express the same as "not" or "without". */
const softNegators =
  wordSet(`exclude excluding excludes excluded omit omitting skip skipping refrain forbid
  forbidden prohibited prevent prevents preventing stop stops fail fails failed failing failure unable
  instead rather lacking missing free absent leave keep preserve retain unchanged intact exclusively
  other stoppt verzichte verzichten unverändert unterlasse vermeide verhindere statt stattdessen
  évite évitez exclure exclus évitant échoue empêche inchangé évita evite evitar excluye excepción`);

/** Matches negations that do not change the request. */
const idle =
  /\b(?:not? (?:more|less|fewer|later|earlier|longer) than|not only|(?:am|i'm) not sure|not sure|(?:don't|do not|didn't) (?:know|understand|get|remember|care)|no idea|or not|why not|if not|nicht mehr als|nicht nur|pas plus de|non seulement|no más de|no solo)\b/gi;

const wordsAround = 6;
/** Maximum number of scopes to compare. For a text with more negations, only their number is compared. */
const maxScopes = 50;

/** Returns the scopes of all negations in a text, and the words outside of them. */
function scopesIn(text: string, isNegator: (word: string) => boolean) {
  const scopes: { readonly word: string; readonly scope: Scope; readonly near: Scope }[] = [];
  const plain: string[] = [];
  for (const clause of clausesOf(text)) {
    const found = lowerWords(clause);
    let left = 0;
    found.forEach((word, at) => {
      if (!isNegator(word)) {
        if (left-- <= 0) plain.push(...contentWords(word));
        return;
      }
      left = wordsAround;
      const after = contentWords(found.slice(at + 1, at + 1 + wordsAround).join(' '));
      const before = contentWords(found.slice(Math.max(0, at - wordsAround), at).join(' '));
      scopes.push({
        word,
        scope: after.length > 0 ? after : before.slice(-2),
        near: [...before, ...after],
      });
    });
  }
  return { scopes, plain };
}

const clausesOf = (text: string) =>
  proseOf(text.replaceAll(/\bw\/o\b/gi, 'without'))
    .replaceAll(idle, ' ')
    .split(/[.,;:!?()\n\u2013\u2014]|\s-\s|\b(?:but|aber|mais|pero)\b/i);

const isHard = (word: string) => negators.has(word) || word.endsWith("n't");
const isAny = (word: string) => isHard(word) || softNegators.has(word);

/** Returns how the negations of a result differ from those of its prompt; undefined if they do not. */
export function changedNegation(prompt: string, result: string): string | undefined {
  const asked = scopesIn(prompt, isHard);
  // A result may put words of the prompt in quotes, such as "file not found", so quotes are ignored.
  const unquoted = result.replaceAll(/[`"\u201c-\u201e]/g, ' ');
  const [softly, written] = [scopesIn(prompt, isAny), scopesIn(unquoted, isAny)];
  const hard = scopesIn(result, isHard);
  if (asked.scopes.length > maxScopes)
    return written.scopes.length < asked.scopes.length ? 'it lost some negations' : undefined;
  const isNear = alikeTo(written.scopes.flatMap(({ near }) => near));
  const isPlain = alikeTo(written.plain);
  for (const { word, scope } of asked.scopes) {
    if (scope.length === 0) continue;
    const isKept = scope.some(isNear);
    const isElsewhere =
      written.scopes.length >= asked.scopes.length && !scope.slice(0, 2).some(isPlain);
    if (!isKept && !isElsewhere)
      return `it lost "${word}", which is about "${scope.slice(0, 3).join(' ')}"`;
  }
  const wasPlain = alikeTo(softly.plain);
  const wasNegated = alikeTo(softly.scopes.flatMap(({ near }) => near));
  const isStillPlain = alikeTo(hard.plain);
  for (const { scope } of hard.scopes.slice(0, maxScopes)) {
    const [word] = scope
      .slice(0, 2)
      .filter(
        found =>
          !requests.has(found) && wasPlain(found) && !wasNegated(found) && !isStillPlain(found),
      );
    if (word !== undefined) return `it negates "${word}", which the prompt does not`;
  }
  return undefined;
}
