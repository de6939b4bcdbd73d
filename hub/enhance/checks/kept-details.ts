import { type Detail, detailsOf } from '../details.ts';
import { units } from '../units.ts';
import * as words from '../words.ts';
import { isVerb, openersOf } from './request-form.ts';
import {
  unspaced,
  alikeTo,
  contentWords,
  lowerWords,
  proseOf,
  sentencesOf,
  straightQuotes,
} from './text.ts';

/** Maximum number of lost details of a kind that are listed, because the search for each takes time. */
export const maxListed = 100;

/**
 * Returns the parts of a prompt that a result lacks, as written: code, URLs, paths, quotations, identifiers, numbers
 * with their units, names, "only", tags and placeholders; at most 100 of a kind. `language`: language of the prompt, if
 * known.
 */
export function lostDetails(
  prompt: string,
  result: string,
  language: string | undefined,
): readonly string[] {
  const [from, to] = [prepared(prompt, language), prepared(result, language)];
  const found = new Set(lowerWords(to));
  const all = [...found];
  const [blocks, kept] = [blocksOf(to), detailsOf(to)];
  const [keptBlocks, keptTexts, keptLiterals] = [
    new Set(blocks),
    new Set(kept.map(keyOf)),
    new Set(literals(to)),
  ];
  const isIn = finder(to);
  const has = holder(to, isIn);
  const details = detailsOf(from.replaceAll(mailAddress, ' '));
  const lost = [
    ...missing(
      blocksOf(from),
      code =>
        keptBlocks.has(code) || to.includes(code) || blocks.some(block => block.includes(code)),
    ),
    ...missing(
      new Map(details.map(detail => [keyOf(detail), detail])).values(),
      detail => (isQuoted(detail) && keptTexts.has(keyOf(detail))) || has(detail),
    ).map(({ text }) => text),
    ...sharedNumbers(from, kept),
    ...missing(literals(from), text => keptLiterals.has(text) || isIn(text)),
    ...missing(datesIn(from), alikeTo(all)),
    ...missing(
      properNames(from, language),
      name => found.has(name.toLowerCase()) || hasName(name, all),
    ),
    ...(limiting.test(to) ? [] : (proseOf(from).match(limits) ?? [])),
  ];
  // "Why does your laptop ..." addresses the user, whose prompt was about "my laptop".
  const isTurned = own.test(prompt) && !own.test(result) && /\byours?\b/i.test(result);
  return [...new Set(isTurned ? [...lost, 'my'] : lost)];
}

/** Returns the first items that a text lacks, at most 100. */
function missing<T>(items: Iterable<T>, has: (item: T) => boolean): readonly T[] {
  const found: T[] = [];
  for (const item of new Set(items)) {
    if (found.length === maxListed) break;
    if (!has(item)) found.push(item);
  }
  return found;
}

const keyOf = ({ kind, text }: Detail) => `${kind} ${text}`;
const isQuoted = ({ kind }: Detail) => kind === 'quote' || kind === 'code';

const limits =
  /(?<!\b(?:not|if|nicht|non) )(?<![-\p{L}])(?:only|nur|seulement|uniquement|sólo|solamente|únicamente)(?![-\p{L}])/iu;
/** Matches words that can express "only". */
const limiting =
  /(?<!\p{L})(?:only|just|solely|exclusive\p{L}*|alone|merely|strictly|limit\p{L}*|restrict\p{L}*|single|sole|nothing|never|not?|without|except|\p{L}+n't|nur|ausschließlich|lediglich|bloß|allein|beschränk\p{L}*|nichts|nicht|keine?n?|ohne|seulement|uniquement|que|sans|pas|sólo|solo|solamente|únicamente|sin)(?!\p{L})/iu;

const own = /\b(?:i|my|me|mine|we|our|ours|us)\b/i;

/** Returns the words of a sentence, without the verbs of its request. */
function nounsIn(sentence: string): readonly string[] {
  const openers = openersOf(sentence).filter(isVerb);
  return contentWords(sentence).filter(
    word => !words.requests.has(word) && !openers.includes(word),
  );
}

/** Matches the word after a preposition, which a rewrite keeps: "for pancakes". */
const topic =
  /\b(?:for|of|about|from|with|für|über|mit|pour|avec|sobre|para) (?:(?:a|an|the|my|our|ein|eine|einen|einer|die|das|den|mein|meine|un|une|mon|ma|una|mi) )?(\p{L}+)/gu;

/** Maximum length in characters of prompts whose words are compared. Longer texts may be shortened by a rewrite. */
const maxWordsLength = 2_000;
/** Share of a prompt's words that a rewrite may replace by other words. */
const maxLost = 0.5;
/** Share of words that may be missing in a result of about the same length, which has no room for other words. */
const maxLostIfShort = 0.15;
const joined = `[${unspaced.source.slice(1, -1)}\\p{Script=Hangul}]`;
const unspacedEdge = new RegExp(`(?<=${joined})(?=\\p{ASCII})|(?<=\\p{ASCII})(?=${joined})`, 'gu');

/**
 * Returns the words that a result lacks, if their share is too large: it is about something else, or omits much. If the
 * share is small, returns only missing words after a preposition, as in "for pancakes".
 */
export function lostWords(prompt: string, result: string): readonly string[] {
  if (prompt.length > maxWordsLength) return [];
  const wanted = [...new Set(sentencesOf(proseOf(prompt)).flatMap(nounsIn))].filter(
    word => !unspaced.test(word) && !numerals.has(word),
  );
  const isFound = alikeTo(lowerWords(straightQuotes(result)));
  const lost = wanted.filter(word => !isFound(word));
  const share = result.length < 1.3 * prompt.length ? maxLostIfShort : maxLost;
  const topics = [...proseOf(prompt).toLowerCase().matchAll(topic)].map(([, word = '']) => word);
  const isMuch = lost.length > wanted.length * share;
  return isMuch ? lost : lost.filter(word => topics.includes(word));
}

/** Number words by language, and the number of the first word. The tokenizer converts smaller English ones itself. */
const spelled = {
  en: [13, 'thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'],
  de: [2, 'zwei drei vier fünf sechs sieben acht neun zehn elf zwölf'],
  fr: [2, 'deux trois quatre cinq six sept huit neuf dix onze douze'],
  es: [2, 'dos tres cuatro cinco seis siete ocho nueve diez once doce'],
} as const;
const numerals = new Set([
  ...words.numerals.keys(),
  ...Object.values(spelled).flatMap(([, list]) => words.wordsOf(list)),
]);

/** Prepares a text for comparison: straight quotes, no numbers of list items, digits instead of number words. */
function prepared(text: string, language: string | undefined): string {
  const plain = straightQuotes(text).replaceAll(/^[ \t]*\d{1,2}[.)][ \t]+/gm, '- ');
  const [first, list] = Object.entries(spelled).find(([name]) => name === language)?.[1] ?? [0, ''];
  const known = words.wordsOf(list);
  return plain
    .replaceAll(unspacedEdge, ' ')
    .replaceAll(/(?<![\p{L}\p{N}_.-])\p{L}+(?![\p{L}\p{N}_.])/gu, word => {
      const at = known.indexOf(word.toLowerCase());
      return at < 0 ? word : String(at + first);
    })
    .replaceAll(
      /(?<![\w.-])(\d+|two|three|four|five|six|seven|eight|nine|ten)-(?=\p{L}{2})/giu,
      '$1 ',
    );
}

/** Returns a function that checks whether a text contains a detail of another text. */
function holder(text: string, isIn: (wanted: string) => boolean) {
  // A detail also counts if it stands in quotes or backticks.
  const bare = detailsOf(text.replaceAll(/[`"]/g, ' '));
  const textsOf = (kind: Detail['kind']) =>
    bare.filter(detail => detail.kind === kind).map(detail => detail.text);
  const names = new Set(textsOf('name'));
  const amounts = textsOf('number').map(amountOf);
  const values = new Set(amounts.map(({ value }) => value));
  const valuesWithUnit = new Set(amounts.map(({ value, unit }) => `${value} ${unit}`));
  const blank = collapsed(text);
  const isFound = alikeTo(lowerWords(text));
  return ({ kind, text: wanted }: Detail): boolean => {
    if (kind === 'negation') return true;
    if (kind === 'name') return names.has(wanted);
    if (kind === 'number') {
      const { value, unit } = amountOf(wanted);
      // A number without a unit may have got one.
      const isKept = unit === '' ? values.has(value) : valuesWithUnit.has(`${value} ${unit}`);
      return isKept || isOne(wanted, text);
    }
    if (kind === 'quote')
      return blank.includes(collapsed(wanted.slice(1, -1)).replace(/[.,]$/, ''));
    if (kind === 'code') return wanted.includes('\n') || blank.includes(collapsed(wanted));
    if (abbreviations.has(wanted.toLowerCase())) return true;
    return isIn(wanted) || (isLoose(wanted) && partsOf(wanted).every(isFound));
  };
}

const collapsed = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
const abbreviations = words.wordSet('e.g i.e z.b d.h u.a p.ex p.m a.m w/o n/a');

/** Returns numbers that count several things, as in "3 tests in 3 lines", and that the result has fewer times. */
function sharedNumbers(prompt: string, kept: readonly Detail[]): readonly string[] {
  const counted = Map.groupBy(
    prompt.matchAll(/(?<![\w.,:/-])(\d+)\s+(\p{L}{3,})/gu),
    ([, number = '']) => number,
  );
  const values = Map.groupBy(kept, ({ text }) => amountOf(text).value);
  return [...counted].flatMap(([number, found]) => {
    const things = new Map(found.map(([text, , thing = '']) => [thing.toLowerCase(), text]));
    const times = values.get(number)?.length ?? 0;
    return things.size > times && times > 0 ? [...things.values()].slice(times) : [];
  });
}

type Amount = { readonly value: string; readonly unit: string };

function amountOf(text: string): Amount {
  const [, sign = '', value = text, unit = ''] =
    /^([$€]?)(v?\d+(?:[.,:]\d+)*)-?(\p{L}*|%)/u.exec(text) ?? [];
  return { value, unit: units.get(sign) ?? units.get(unit) ?? unit.toLowerCase() };
}

const isOne = (wanted: string, text: string) =>
  wanted === '1' && /(?<!\p{L})(?:one|an?|single|eine?[nrms]?|une?|un[oa]?)(?!\p{L})/iu.test(text);

/** Returns the code blocks of a text, without their common indentation and trailing whitespace. */
const blocksOf = (text: string): readonly string[] =>
  [...text.matchAll(/```[^\n`]*\n([\s\S]*?)(?:```|$)/g)].map(([, code = '']) => {
    const lines = code.split('\n').map(line => line.trimEnd());
    const indents = lines.filter(Boolean).map(line => line.search(/\S/));
    return lines
      .map(line => line.slice(Math.min(...indents)))
      .join('\n')
      .trim();
  });

const closing = /[)\]}>.,;:!?'"*]+$/;

/** Returns a function that checks whether a text contains another one that is not part of a longer word or path. */
function finder(text: string) {
  const runs = text.split(/\s+/);
  const alone = new Set([...runs, ...runs.map(run => run.replace(closing, ''))]);
  return (wanted: string): boolean => {
    const bare = wanted.replace(closing, '') || wanted;
    return alone.has(bare) || isWithin(bare, text);
  };
}

/** True if a text contains another one that is not part of a longer word, path or identifier. */
function isWithin(bare: string, text: string): boolean {
  const before = /^[\p{L}_]/u.test(bare) ? /[\p{L}_$/\\.@-]$/u : /[\p{L}\p{N}_]$/u;
  const after = bare.includes('/')
    ? /^(?:[\p{L}\p{N}_]|[./\\?=&@:#-][\p{L}\p{N}_])/u
    : /^(?:[\p{L}\p{N}_]|[./\\@-][\p{L}\p{N}_])/u;
  for (let at = text.indexOf(bare); at >= 0; at = text.indexOf(bare, at + 1)) {
    const end = at + bare.length;
    if (!after.test(text.slice(end, end + 2)) && !before.test(text.slice(Math.max(0, at - 1), at)))
      return true;
  }
  return false;
}

/** True for words with a single separator, such as "and/or" and "works.Then", which are no paths or identifiers. */
const isLoose = (text: string) =>
  /^\p{L}+\/\p{L}+$/u.test(text) || /^\p{Ll}{2,}\.\p{Lu}\p{Ll}+$/u.test(text);

const partsOf = (wanted: string) => lowerWords(wanted.replaceAll(/[/.]/g, ' '));

const mailAddress = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const literal =
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w&/#@.])[#@][\p{L}_][\p{L}\p{N}_/-]*|\[\[[^[\]\n]+\]\]|\{\{?[\w .-]{1,60}\}\}?|\$\{?[A-Za-z_]\w*\}?|(?<!\w)\d+(?:x\d+)+(?!\w)/gu;

const literals = (text: string): readonly string[] =>
  text.replaceAll(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, ' ').match(literal) ?? [];

/** Matches days, months and frequencies. "May" is a month only after a preposition. */
const dates =
  /(?<![\p{L}-])(?:january|february|march|april|june|july|august|september|october|november|december|(?<=\b(?:in|by|of|since|until|this|next|last|early|late|mid) )may|(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|to(?:day|morrow|night)|yesterday|heute|morgen|gestern|demain|hier|hoy|mañana|ayer|noon|midnight|hourly|daily|nightly|weekly|monthly|yearly|annually)(?![\p{L}-])/giu;

const datesIn = (text: string): readonly string[] => text.toLowerCase().match(dates) ?? [];

/** Returns the capitalized words within sentences; none for German, which capitalizes all nouns. */
function properNames(text: string, language: string | undefined): readonly string[] {
  if (language === 'de') return [];
  const inner = sentencesOf(proseOf(text)).flatMap(sentence =>
    (sentence.match(/(?<![\w@#.$-])\p{L}[\p{L}\p{M}]*(?:['-]\p{L}+)*(?![\w-])/gu) ?? []).slice(1),
  );
  const names = [...new Set(inner)].filter(
    word =>
      /^\p{Lu}[\p{L}\p{M}]+/u.test(word) && !words.isOpener(word.toLowerCase()) && !units.has(word),
  );
  // A text with many capitalized words is a title, or shouts.
  return names.length > inner.length / 2 && names.length > 2 ? [] : names;
}

/** True if a name is among the words. It may be inflected. */
function hasName(name: string, found: readonly string[]): boolean {
  const known = words.names.get(name.toLowerCase());
  if (known && found.some(word => words.names.get(word) === known)) return true;
  const stem = name.toLowerCase().replace(/'s$/, '');
  const start = stem.slice(0, Math.max(3, stem.length - 2));
  return found.some(word => word.startsWith(start));
}
