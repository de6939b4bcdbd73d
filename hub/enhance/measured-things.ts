import { closed, isContentWord } from './phrases.ts';
import type { Token } from './tokens.ts';
import { wordSet } from './words.ts';

/** Matches weights, lengths and volumes. Money and time do not count: "a picture of 5 dollars" has another meaning. */
const measure = /^\d+(?:\.\d+)?(?:mm|cm|m|km|mi|inch|ft|yd|mg|g|kg|lb|oz|ml|L|gal|sqm|sqft)$/;
/** Nouns that are an amount or a share, have an amount as their value, or depict something. */
const values = wordSet(
  `altitude amount area average bit capacity circumference depth diameter dimension distance drawing elevation half
  height image length limit loss margin mass maximum mean median minimum offset padding part perimeter photo picture
  piece portion quantity quarter radius range record share size slice speed sum thickness third total value volume
  weight width`,
);
/** Words between two amounts. */
const joints = wordSet('and or to by x');
const verbs = wordSet('has have need needs');
const maxNoun = 3;

/** Rewrites "a chicken of 2 kg" as "a 2 kg chicken". */
export function withEarlyMeasures(tokens: readonly Token[]): readonly Token[] {
  const done: Token[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const [token, amount] = [tokens[at], tokens[at + 1]];
    if (!token) break;
    const begin = token.text === 'of' && amount ? beginOfNoun(done) : -1;
    const isThing = begin >= 0 && amount?.kind === 'number' && measure.test(amount.text);
    if (amount && isThing && endsPhrase(tokens[at + 2])) {
      done.splice(begin, 0, amount);
      at++;
    } else done.push(token);
  }
  return done;
}

/** Returns the index of the noun after the last "a" or "an"; -1 if there are other words. */
function beginOfNoun(tokens: readonly Token[]): number {
  const words = tokens.slice(-maxNoun - 1).map(({ text }) => text.toLowerCase());
  const article = words.findLastIndex(text => text === 'a' || text === 'an');
  const noun = words.slice(article + 1);
  const isNoun = article >= 0 && noun.length > 0 && noun.every(isContentWord);
  return isNoun && !values.has(noun.at(-1) ?? '') ? tokens.length - noun.length : -1;
}

/** True if the phrase ends with the amount: the amount is not part of a range and does not count the next word. */
const endsPhrase = (next: Token | undefined): boolean =>
  next === undefined ||
  next.kind === 'stop' ||
  (next.kind === 'word' &&
    !joints.has(next.text) &&
    (closed.has(next.text) || verbs.has(next.text)));
