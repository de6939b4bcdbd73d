import { type Canonical, textsOf } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const be = wordSet('am is are was were be been being');
const pronouns = wordSet('i you he she it we they me him her us them');
/** "the issues that are assigned to me" are "the issues assigned to me". */
const relative = wordSet('that which who');
/** Words between a form of "be" and the participle: "is the old parser called by main". */
const maxDistance = 6;

/**
 * Whether the same words, in the same order, are a passive in one prompt only: who influenced somebody is not who was
 * influenced by them. A passive with its words in the other order can be the same request.
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

/** "can I be fired" is not "can I fire somebody", nor "am I paid" "do I pay". */
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

/** "files changed in a commit" are "files that were changed by a commit". */
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
