import { type Canonical, textsOf } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const be = wordSet('am is are was were be been being');
const pronouns = wordSet('i you he she it we they me him her us them');
/** Relative pronouns of a passive clause that may be omitted: "the issues that are assigned to me". */
const relative = wordSet('that which who');
/** Maximum distance in words between a form of "be" and the participle: "is the old parser called by main". */
const maxDistance = 6;

/**
 * True if the same words in the same order are a passive in only one prompt: "who influenced" is not "who was
 * influenced by". A passive with another order of the words can be the same request.
 */
export function isOtherVoice(a: Canonical, b: Canonical): boolean {
  const [left, right] = [textsOf(a), textsOf(b)];
  if (isDoneByPerson(left, right) || isDoneByPerson(right, left)) return true;
  if (hasPassive(left) === hasPassive(right)) return false;
  if (isDoneIn(left, right) || isDoneIn(right, left)) return false;
  const [mine, theirs] = [wordsOf(left), wordsOf(right)];
  return mine.length === theirs.length && mine.every((word, at) => word === theirs[at]);
}

const persons = wordSet('i you he she we they');

/** True if a person acts in one prompt and is acted upon in the other: "can I be fired" and "can I fire somebody". */
const isDoneByPerson = (mine: readonly string[], theirs: readonly string[]): boolean =>
  mine.some((text, at) => {
    if (!be.has(text)) return false;
    const isTurned = persons.has(mine[at + 1] ?? '');
    const person = mine[isTurned ? at + 1 : at - 1] ?? '';
    const { stem, form } = vocabulary().stem(mine[isTurned ? at + 2 : at + 1] ?? '');
    if (!persons.has(person) || form !== 'ed') return false;
    return theirs.some(
      (word, place) =>
        theirs[place - 1] === person &&
        !be.has(theirs[place - 2] ?? '') &&
        vocabulary().stem(word).stem === stem,
    );
  });

const wordsOf = (texts: readonly string[]): readonly string[] =>
  texts
    .filter(text => /^\p{L}/u.test(text) && (pronouns.has(text) || !closed.has(text)))
    .map(text => vocabulary().stem(text).stem);

/** True if "in" and "by" mean the same: "files changed in a commit" are "files that were changed by a commit". */
const isDoneIn = (mine: readonly string[], theirs: readonly string[]): boolean =>
  mine.some(
    (text, at) =>
      mine[at + 1] === 'in' &&
      theirs.some((other, place) => other === text && theirs[place + 1] === 'by'),
  );

function hasPassive(texts: readonly string[]): boolean {
  return texts.some(
    (text, at) =>
      be.has(text) &&
      !(at > 1 && relative.has(texts[at - 1] ?? '')) &&
      texts
        .slice(at + 1, at + 1 + maxDistance)
        .some(word => !closed.has(word) && vocabulary().stem(word).form === 'ed'),
  );
}
