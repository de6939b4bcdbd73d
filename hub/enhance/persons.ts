import type { Canonical } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

/** Grammatical persons of the pronouns next to each word. */
type Persons = ReadonlyMap<string, ReadonlySet<string>>;

const persons = new Map(
  [
    ['first', 'i we my our me us'],
    ['second', 'you your'],
    ['third', 'he she they his her their him them'],
  ].flatMap(([person = '', words = '']) =>
    [...wordSet(words)].map(word => [word, person] as const),
  ),
);
const objects = wordSet('me us him them');
/** Words before a pronoun in a question that is about nobody in particular: "how do I", "how do you". */
const inverting = wordSet('do does did can could should would will might must may to am are is');
const maxDistance = 3;

const be = wordSet('am is are was were be');
const isContent = (word: string | undefined): boolean => word !== undefined && !closed.has(word);
const stemOf = (word: string | undefined): string =>
  word === undefined ? '' : vocabulary().stem(word).stem;
const formOf = (word: string | undefined) =>
  word === undefined ? undefined : vocabulary().stem(word).form;
const isAction = (word: string | undefined): boolean => vocabulary().verbs.has(stemOf(word));

/** Returns the persons who act, own, or are acted upon, by the word next to their pronoun. */
function personsOf({ tokens, payload }: Canonical): Persons {
  const texts = [...tokens, ...payload].map(({ text }) => text.toLowerCase());
  const found = new Map<string, Set<string>>();
  const add = (word: string, person: string) => {
    if (/^(?:to )?$/.test(word)) return;
    const known = found.get(word);
    if (known) known.add(person);
    else found.set(word, new Set([person]));
  };
  for (const [at, text] of texts.entries()) {
    const person = persons.get(text);
    if (person === undefined) continue;
    const isAsked = inverting.has(texts[at - 1] ?? '') && person !== 'third';
    const next = texts.slice(at + 1, at + 1 + maxDistance).find(isContent);
    const before = isContent(texts[at - 1]) ? texts[at - 1] : undefined;
    const isPassive = be.has(texts[at + 1] ?? '') && formOf(next) === 'ed';
    if (objects.has(text)) add(`to ${stemOf(before)}`, person);
    else if (isPassive) add(`to ${stemOf(next)}`, person);
    else if (isAsked) add(stemOf(next), 'anyone');
    else {
      add(stemOf(next), person);
      // "you" may be the object of the verb before it: "ask you questions".
      if (text === 'you' && isAction(before)) add(`to ${stemOf(before)}`, person);
    }
  }
  return found;
}

function areSame(mine: ReadonlySet<string>, theirs: ReadonlySet<string>): boolean {
  if ([...theirs].some(person => mine.has(person))) return true;
  const isOpen = mine.has('anyone') || theirs.has('anyone');
  return isOpen && !mine.has('third') && !theirs.has('third');
}

/**
 * Returns a word whose pronouns have another person in the second prompt: "I decide" is not "you decide", and "my
 * notes" are not "their notes".
 */
export function otherPerson(a: Canonical, b: Canonical): string | undefined {
  const others = personsOf(b);
  const [word] =
    [...personsOf(a)].find(([key, mine]) => {
      const theirs = others.get(key);
      return theirs !== undefined && !areSame(mine, theirs);
    }) ?? [];
  return word?.replace('~', '');
}
