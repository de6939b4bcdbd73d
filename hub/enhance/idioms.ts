import { withSortedLists } from './idioms/lists.ts';
import { parts } from './idioms/parts.ts';
import { questions } from './idioms/questions.ts';
import { requests } from './idioms/requests.ts';
import { roles } from './idioms/roles.ts';
import { outsideQuotations } from './tokens.ts';
import { isOpener, isTypeName } from './words.ts';

/** Maximum length in characters of prompts in which idioms are replaced, because the patterns read whole prompts. */
const maxLength = 1_000;

/** Patterns in the order of their use: first for whole questions and requests, then for their parts. */
const idioms = [...roles, ...questions, ...requests, ...parts];

/** Words that are often written without accents. "rosé" and "maté" would be other words without theirs. */
const accented =
  /(?<!\p{L})(?:crème|brûlée|fraîche|cafés?|naïve|façades?|jalapeños?|clichés?|piñatas?|soufflés?|purées?|décor|São|Zürich|Málaga|Córdoba)(?!\p{L})/giu;
/** Names of persons and places within a sentence: "García Márquez". */
const accentedName =
  /(?<=\p{Lu}\p{Ll}+ )\p{Lu}\p{L}{3,}|(?<=\p{L} )\p{Lu}\p{L}{3,}(?= \p{Lu}\p{Ll})/gu;
const aboutAccents =
  /\b(?:types?|typed?|mean\w*|codes?|entit\w+|accent\w*|spell\w*|pronounc\w*|Spanish|German|French|Portuguese|letters?)\b/i;
function withoutAccents(text: string): string {
  const plain = (word: string) => word.normalize('NFD').replaceAll(/\p{M}/gu, '').normalize('NFC');
  const rest = text.replaceAll(accented, plain);
  return aboutAccents.test(rest) ? rest : rest.replaceAll(accentedName, plain);
}

/** Rewrites an English request in one common wording for comparison: "how tall is it" as "what is the height of it". */
export function withoutIdioms(text: string): string {
  return text.length > maxLength ? text : outsideQuotations(text, inOneWording);
}

function inOneWording(text: string): string {
  let rest = withoutAccents(text).replace(/^\p{Lu}\p{Ll}+(?= (\S+))/u, (word, next: string) =>
    isOpener(word.toLowerCase()) && !isTypeName(word, next) ? word.toLowerCase() : word,
  );
  const end = /[\s.?!]*$/.exec(rest)?.[0] ?? '';
  rest = rest.slice(0, rest.length - end.length);
  for (const [pattern, replacement] of idioms)
    rest =
      typeof replacement === 'string'
        ? rest.replace(pattern, replacement)
        : rest.replace(pattern, replacement);
  return withSortedLists(rest) + end;
}
