import { readFileSync } from 'node:fs';
import { type Stem, stemOf } from './stem.ts';
import { small, negators, requests, rowsOf, wordSet, wordsOf } from './words.ts';

/** A phrase as the stems of its words; `*` matches up to `maxSlot` words. */
export type Phrase = { readonly name: string; readonly stems: readonly string[] };
/** Phrases by their first stem, the longest first. */
export type Phrases = ReadonlyMap<string, readonly Phrase[]>;

type Vocabulary = {
  readonly leads: Phrases;
  readonly intents: Phrases;
  readonly groups: Phrases;
  readonly verbs: ReadonlySet<string>;
  readonly dropped: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
  /** Stems of words whose case does not matter. */
  readonly plain: ReadonlySet<string>;
  readonly stem: (word: string) => Stem;
  /** Stems of words that do not change a request. */
  readonly neutral: ReadonlySet<string>;
  /** Words that may be in only one of two prompts. */
  readonly light: ReadonlySet<string>;
  /** Numbers of the rows of near-synonyms that contain a word, by its stem. */
  readonly near: ReadonlyMap<string, readonly number[]>;
};

/** Words without inflected forms. */
export const closed =
  wordSet(`do does did is are was were be been being am can could should would will shall may
  might must to of in on at for from with by as than and or but nor not no if i you we he she they me us him her it
  a an the this that these those my your our their his its there here what which who whom whose why where when how
  one both all any every each some none never so if when while unless because before after until till since once
  although though inside within using via through into onto without between against across over under like behind
  beside near among about per whether`);

/** True for words that have inflected forms. */
export const isContentWord = (word: string | undefined): boolean =>
  word !== undefined && /^\p{L}/u.test(word) && !closed.has(word);

/** Maximum number of cached stems, about 1 MB. */
const maxStems = 10_000;

let loaded: Vocabulary | undefined;

/** Returns the vocabulary in `assets/phrases.txt`, which is read at the first call. */
export const vocabulary = (): Vocabulary =>
  (loaded ??= parseVocabulary(
    readFileSync(new URL('./assets/phrases.txt', import.meta.url), 'utf8'),
  ));

export function parseVocabulary(text: string): Vocabulary {
  const sections = sectionsOf(text);
  const lines = (name: string) => sections.get(name) ?? [];
  /** Stems of irregular words, and cached stems of other words. */
  const stemsByWord = new Map<string, Stem>();
  const written = new Set([...requests, ...(text.match(/[a-z]+/g) ?? [])]);
  const learn = (section: string, form: 'ed' | 's') => {
    for (const [base = '', ...others] of rowsOf(lines(section).join(' ')))
      for (const other of others) stemsByWord.set(other, { stem: stemOf(base).stem, form });
  };
  learn('forms', 'ed');
  learn('plurals', 's');
  for (const word of [...closed, '*']) stemsByWord.set(word, { stem: word, form: 'plain' });
  const stem = (word: string): Stem => {
    const known = stemsByWord.get(word);
    if (known) return known;
    const found = stemOf(word, other => written.has(other));
    if (stemsByWord.size < maxStems) stemsByWord.set(word, found);
    return found;
  };
  const phrasesOf = (name: string, row: string): readonly Phrase[] =>
    row
      .split('|')
      .flatMap(alternatives)
      .map(phrase => ({ name, stems: wordsOf(phrase).map(word => stem(word).stem) }));
  const named = (line: string) => {
    const [name = '', ...rest] = line.split(':');
    return phrasesOf(name, rest.join(':'));
  };
  const grouped = (line: string) => phrasesOf(`=${wordsOf(line)[0]}`, line);
  const stems = (words: Iterable<string>) => new Set([...words].map(word => stem(word).stem));
  const verbGroups = lines('verbs').flatMap(grouped);
  const firsts = verbGroups.map(({ stems: [first = ''] }) => first);
  const verbs = new Set([
    ...firsts,
    ...verbGroups.map(({ name }) => name),
    ...wordsOf(lines('verbsalone').join(' ')),
    ...stems([...requests, ...wordsOf(lines('verbsalone').join(' '))]),
  ]);
  const rewrites = lines('rewrites').flatMap(named);
  const groups = [...rewrites, ...lines('words').flatMap(grouped), ...verbGroups];
  const called = new Map(
    groups.flatMap(({ name, stems: [first = '', ...others] }) =>
      others.length === 0 ? [[first, name] as const] : [],
    ),
  );
  /** Names of all groups. `nameOf` returns the name of a word's group, or its stem if it has no group. */
  const names = new Set(groups.map(({ name }) => name));
  const nameOf = (word: string) =>
    names.has(word) ? word : (called.get(stem(word).stem) ?? stem(word).stem);
  const near = Map.groupBy(
    lines('near')
      .flatMap(line => line.split('|'))
      .flatMap((row, number) => wordsOf(row).map(word => ({ name: nameOf(word), number }))),
    ({ name }) => name,
  );
  return {
    neutral: new Set(lines('neutral').flatMap(row => wordsOf(row).map(nameOf))),
    light: new Set(lines('light').flatMap(wordsOf)),
    near: new Map([...near].map(([name, rows]) => [name, rows.map(({ number }) => number)])),
    leads: byFirst(lines('leads').flatMap(line => phrasesOf('lead', line))),
    intents: byFirst(lines('intents').flatMap(named)),
    groups: byFirst(groups),
    verbs,
    dropped: new Set(wordsOf(lines('dropped').join(' '))),
    kinds: new Set(
      wordsOf(lines('kinds').join(' ')).flatMap(word => [`=${word}`, stem(word).stem]),
    ),
    plain: new Set([
      ...groups.flatMap(phrase => (phrase.stems.length === 1 ? phrase.stems : [])),
      ...verbs,
      ...stems([...wordsOf(lines('plain').join(' ')), ...small, ...negators]),
    ]),
    stem,
  };
}

function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let section: string[] = [];
  for (const line of text.split('\n')) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (name) sections.set(name, (section = []));
    else if (line.trim() && !line.startsWith('#')) section.push(line);
  }
  return sections;
}

/** Expands alternatives: "do (you/we) know" into "do you know" and "do we know". */
function alternatives(phrase: string): readonly string[] {
  const [found, inside = ''] = /\(([^)]*)\)/.exec(phrase) ?? [];
  if (!found) return [phrase];
  return inside.split('/').flatMap(word => alternatives(phrase.replace(found, word)));
}

function byFirst(phrases: readonly Phrase[]): Phrases {
  const table = Map.groupBy(
    phrases.filter(({ stems }) => stems.length > 0),
    ({ stems: [first = ''] }) => first,
  );
  for (const [first, list] of table)
    table.set(
      first,
      list.toSorted((a, b) => b.stems.length - a.stems.length),
    );
  return table;
}
