import type { Canonical } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

/** For each word beside a pronoun, the persons that its pronouns mean. */
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
/** In "how do I" and "how do you", nobody in particular is meant. */
const inverting = wordSet('do does did can could should would will might must may to am are is');
const maxDistance = 3;

/** Who acts, owns and is acted upon. */
function personsOf({ tokens, payload }: Canonical): Persons {
  const texts = [...tokens, ...payload].map(({ text }) => text.toLowerCase());
  const found = new Map<string, Set<string>>();
  for (const [at, text] of texts.entries()) {
    const person = persons.get(text);
    if (person === undefined || inverting.has(texts[at - 1] ?? '')) continue;
    const isObject = objects.has(text);
    const near = isObject
      ? texts.slice(Math.max(0, at - 1), at)
      : texts.slice(at + 1, at + 1 + maxDistance);
    const word = near.find(other => !closed.has(other));
    if (word === undefined) continue;
    const key = `${isObject ? 'to ' : ''}${vocabulary().stem(word).stem}`;
    const known = found.get(key);
    if (known) known.add(person);
    else found.set(key, new Set([person]));
  }
  return found;
}

/**
 * A word with pronouns of other persons in the second prompt: "I decide" is not "you decide", and "my notes" are not
 * "their notes".
 */
export function otherPerson(a: Canonical, b: Canonical): string | undefined {
  const others = personsOf(b);
  const [word] =
    [...personsOf(a)].find(([key, mine]) => {
      const theirs = others.get(key);
      return theirs !== undefined && ![...theirs].some(person => mine.has(person));
    }) ?? [];
  return word?.replace('~', '');
}
