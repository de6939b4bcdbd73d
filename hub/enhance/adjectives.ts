import { vocabulary } from './phrases.ts';
import type { Token } from './tokens.ts';
import { contrasts, wordSet } from './words.ts';

/** Adjectives that describe the style of a text. */
const qualities = wordSet(
  `short brief concise long simple formal informal casual polite friendly kind funny humorous witty serious
  professional persuasive engaging catchy creative original elegant warm gentle cheerful romantic heartfelt sincere
  honest moving exciting interesting detailed thorough comprehensive accurate precise practical useful helpful`,
);
/** Nouns for texts. Before other nouns, an adjective may name a kind: "a formal method" is not any method. */
const texts = wordSet(
  `announcement answer apology article biography blurb caption card description email essay explanation farewell
  greeting headline invitation invite introduction joke letter limerick message memo note overview paragraph poem post
  reminder reply report response review slogan speech story summary tagline toast tutorial tweet`,
);
const articles = wordSet('a an my our your this');
/** Maximum number of nouns before the noun for a text: "resignation letter". */
const maxNouns = 2;

/** Returns the synonym group of an adjective, or its stem if it has none, so that synonyms are sorted alike. */
function nameOf(word: string): string {
  const { stem } = vocabulary().stem(word);
  const groups = vocabulary().groups.get(stem) ?? [];
  return groups.find(({ stems }) => stems.length === 1)?.name ?? stem;
}

/**
 * Sorts two adjectives of a text: "a formal and short letter" becomes "a short and formal letter". An article must be
 * directly before them, because "very" or "less" may refer to the first adjective only. Elsewhere, the order may
 * matter: in names, in values, and in keys to sort by.
 */
export function withSortedAdjectives(tokens: readonly Token[]): readonly Token[] {
  const done: Token[] = [];
  for (let place = 0; place < tokens.length; place++) {
    const [token, joint, second] = tokens.slice(place, place + 3);
    if (!token) break;
    const isJoined = joint?.text === 'and' || joint?.text === ',';
    if (!second || !isJoined || !isPair(token.text, second.text) || !isOfText(tokens, place)) {
      done.push(token);
      continue;
    }
    const isSorted = nameOf(token.text) <= nameOf(second.text);
    const [first, last] = isSorted ? [token, second] : [second, token];
    done.push(first, { kind: 'word', text: 'and' }, last);
    place += 2;
  }
  return done;
}

const isPair = (one: string, other: string): boolean =>
  qualities.has(one) && qualities.has(other) && !areOpposites(one, other);

/** True if two adjectives at a place are between an article and a noun for a text. */
function isOfText(tokens: readonly Token[], place: number): boolean {
  const noun = tokens.findIndex(({ text }, at) => at > place + 2 && texts.has(text));
  const isNear = noun > 0 && noun <= place + 3 + maxNouns;
  const between = tokens.slice(place + 3, noun);
  return (
    isNear &&
    articles.has(tokens[place - 1]?.text.toLowerCase() ?? '') &&
    between.every(({ kind, text }) => kind === 'word' && !qualities.has(text) && text !== 'and')
  );
}

const areOpposites = (one: string, other: string): boolean =>
  contrasts.some(group => {
    const [a, b] = [group.get(one), group.get(other)];
    return a !== undefined && b !== undefined && a !== b;
  });
