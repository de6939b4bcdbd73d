import { type Canonical, textsOf } from './canonical.ts';
import { closed, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const objects = wordSet('me us him them you it');
const owners = wordSet('its his their her');
const selves = wordSet('myself yourself himself herself ourselves yourselves themselves oneself');
const articles = wordSet('a an the');
const operators = new Set(['+', '*', '/', '^', '-', '%', '&&', '||']);
const governing = wordSet('with from without against about');
const conditions = wordSet('if when while after before because for until unless');
const all = wordSet('all every');
const single = wordSet('one 1 single same own separate different');
const shares = wordSet('each all both');
const questions = wordSet('what which when where who why how');
const finished = wordSet('did was were had');
const imagined = wordSet('will would can could should must might may');
const subjects = wordSet('i you he she it we they');
const be = wordSet('am is are was were be been being');
/** Nouns whose meaning differs after "a" and "the": "a cold", "the cold". */
const nouns = wordSet('cold chill dark right left past future');
const defining = wordSet('explain define describe');
const particles = wordSet('up down off out away back apart');

/** A property of a prompt. `of` reads it from the words in lower case; undefined if the prompt does not have it. */
type Trait = {
  readonly why: string;
  readonly of: (texts: readonly string[]) => string | undefined;
};

/** Properties that must be equal. Two prompts are different requests if both have a property with different values. */
const traits: readonly Trait[] = [
  { why: 'new and used', of: stateOf },
  { why: 'only one prompt says “used”', of: usedOf },
  { why: 'only one prompt has a second article', of: secondArticleOf },
  { why: 'the comparison names another person', of: comparedPersonOf },
  { why: 'different words in brackets', of: bracketsOf },
  { why: 'only one prompt has a reflexive pronoun', of: selfOf },
  { why: 'another preposition before a pronoun', of: pronounBehind },
  { why: '“only” refers to something else', of: onlyOf },
  { why: '“not all” in only one prompt', of: notAllOf },
  { why: 'only one prompt adds a pronoun with “and”', of: joinedPronoun },
  { why: '“a little” and “little”', of: littleOf },
  { why: '“a” and “the” before a noun that then means something else', of: nounOf },
  { why: 'only one prompt has “the” before the word it asks about', of: definedOf },
  { why: '“same” refers to another word', of: wordBehindSame },
  { why: 'another word before “with” in a comparison', of: comparedWith },
  { why: 'only one prompt has “it” before the final verb', of: askedOf },
  { why: 'a question about the past and one with a modal verb', of: moodOf },
  { why: 'what must not be and what need not be', of: forbiddenOf },
  { why: '“used to” and “be used to”', of: usedToOf },
  { why: '“to” and “-ing” after a verb such as “remember”', of: rememberedOf },
  { why: 'another person is asked to act', of: askedToOf },
];

/** Returns how two prompts differ in a small word that changes the request; undefined if they do not differ. */
export function otherSmallWord(a: Canonical, b: Canonical): string | undefined {
  const [left, right] = [textsOf(a), textsOf(b)];
  if (isOtherParticle(left, right)) return 'another particle of the verb';
  if (isOneForEach(left, right)) return '“each” in only one prompt';
  return traits.find(({ of }) => {
    const [mine, theirs] = [of(left), of(right)];
    return mine !== undefined && theirs !== undefined && mine !== theirs;
  })?.why;
}

const isWord = (text = ''): boolean => /^[\p{L}\d]/u.test(text);
const isContent = (text = ''): boolean => isWord(text) && !closed.has(text);
const stemOf = (text = ''): string => vocabulary().stem(text).stem;

/** Distinguishes "a new car" and "a used car". */
function stateOf(texts: readonly string[]): string | undefined {
  const [isNew, isUsed] = [texts.includes('new'), texts.includes('used')];
  return isNew === isUsed ? undefined : String(isNew);
}

/** Distinguishes "a used car" and "a car". */
function usedOf(texts: readonly string[]): string {
  return String(texts.some((text, at) => text === 'used' && articles.has(texts[at - 1] ?? '')));
}

/** Distinguishes "a black and white cat" and "a black and a white cat". */
function secondArticleOf(texts: readonly string[]): string | undefined {
  const at = texts.findIndex(
    (text, place) => text === 'and' && (texts[place - 2] === 'a' || texts[place - 2] === 'an'),
  );
  return at < 0 ? undefined : String(articles.has(texts[at + 1] ?? ''));
}

/** Distinguishes "than I do my husband" and "than my husband does". */
function comparedPersonOf(texts: readonly string[]): string | undefined {
  const at = texts.indexOf('than');
  return at < 0 ? undefined : String(texts[at + 1] === 'i');
}

/** Distinguishes "2 * (3 + 4)", "(2 * 3) + 4" and "2 * 3 + 4", but not "(oldest first)" and "oldest first". */
function bracketsOf(texts: readonly string[]): string | undefined {
  const [begin, end] = [texts.indexOf('('), texts.indexOf(')')];
  if (begin < 0 || end < begin) return texts.some(text => operators.has(text)) ? 'none' : undefined;
  const words = texts.slice(begin + 1, end).filter(text => isWord(text) && !articles.has(text));
  return words.map(stemOf).toSorted().join(' ');
}

/** Distinguishes "mute myself" and "mute someone". */
function selfOf(texts: readonly string[]): string {
  return String(texts.some(text => selves.has(text)));
}

/** Distinguishes "with you" and "from you". */
function pronounBehind(texts: readonly string[]): string | undefined {
  const at = texts.findIndex(
    (text, place) => governing.has(texts[place - 1] ?? '') && objects.has(text),
  );
  const next = texts[at + 1];
  return at < 0 || (isWord(next) && !closed.has(next ?? '')) ? undefined : texts[at - 1];
}

/**
 * Distinguishes "only if it fails", "only me" and "the only issue", but not "only delete it if" and "delete it only".
 */
function onlyOf(texts: readonly string[]): string | undefined {
  const at = texts.indexOf('only');
  if (at < 0) return undefined;
  if (texts[at - 1] === 'the') return 'the';
  const next = texts[at + 1] ?? '';
  const isAction =
    vocabulary().verbs.has(stemOf(next)) && texts.slice(at).some(text => conditions.has(text));
  return conditions.has(next) || isAction ? 'condition' : 'thing';
}

const asking = wordSet('ask asks asked asking');

/** Distinguishes "asking to leave" and "asking him to leave". */
function askedToOf(texts: readonly string[]): string | undefined {
  const at = texts.findIndex(text => asking.has(text));
  const [next, verb] = texts.slice(at + 1);
  if (at < 0 || (next !== 'to' && verb !== 'to')) return undefined;
  return next === 'to' ? 'the one who asks' : objects.has(next ?? '') ? 'another' : undefined;
}

/** Distinguishes "not all tests pass" and "all tests do not pass". */
function notAllOf(texts: readonly string[]): string | undefined {
  if (!texts.includes('not') || !texts.some(text => all.has(text))) return undefined;
  return String(texts.some((text, at) => text === 'not' && all.has(texts[at + 1] ?? '')));
}

/** True for "the client and me" and "the file and its backup", which are more than "the client" and "the file". */
function joinedPronoun(texts: readonly string[]): string {
  return String(
    texts.some((text, at) => {
      const [pronoun = '', next] = texts.slice(at + 1);
      return text === 'and' && (owners.has(pronoun) || (objects.has(pronoun) && !isWord(next)));
    }),
  );
}

/** Distinguishes "a little time" and "little time". */
function littleOf(texts: readonly string[]): string | undefined {
  const at = texts.indexOf('little');
  const { form } = vocabulary().stem(texts[at + 1] ?? '');
  return at < 0 || form === 's' ? undefined : String(texts[at - 1] === 'a');
}

/** Distinguishes "protect me from a cold" and "protect me from the cold". */
function nounOf(texts: readonly string[]): string | undefined {
  const at = texts.findIndex((text, place) => {
    const next = texts[place + 1];
    return nouns.has(text) && articles.has(texts[place - 1] ?? '') && !isContent(next);
  });
  return at < 0 ? undefined : String(texts[at - 1] === 'the');
}

/** Distinguishes "what is time" and "what is the time". */
function definedOf(texts: readonly string[]): string | undefined {
  const words = texts.filter(isWord);
  const isQuestion = words[0] === 'what' && words[1] === 'is';
  if (!isQuestion && !defining.has(words[0] ?? '')) return undefined;
  const [first, ...others] = words.slice(isQuestion ? 2 : 1);
  const length = first === 'the' ? 1 : 0;
  return others.length === length ? String(first === 'the') : undefined;
}

/** Returns the stem of the word after "same": "the same key for both" is not "both keys for the same". */
function wordBehindSame(texts: readonly string[]): string | undefined {
  const at = texts.indexOf('same');
  return at < 0 ? undefined : stemOf(texts[at + 1]);
}

/** Distinguishes "compare A with B and C" and "compare A and B with C". */
function comparedWith(texts: readonly string[]): string | undefined {
  const at = texts.indexOf('with');
  return texts.includes('compare') && at > 0 && texts.includes('and') ? texts[at - 1] : undefined;
}

/** True if only one prompt has "each": "one test for each" and "one test for all". */
function isOneForEach(left: readonly string[], right: readonly string[]): boolean {
  const [mine, theirs] = [left, right].map(texts => texts.find(text => shares.has(text)));
  return (
    mine !== undefined &&
    theirs !== undefined &&
    (mine === 'each') !== (theirs === 'each') &&
    [...left, ...right].some(text => single.has(text))
  );
}

/** Distinguishes "tell me what time is" and "tell me what time it is". */
function askedOf(texts: readonly string[]): string | undefined {
  const last = texts.findLast(isWord) ?? '';
  return last === 'is' || last === 'are' ? String(texts.includes('it')) : undefined;
}

/** Distinguishes "what did you do" and "what would you do". */
function moodOf(texts: readonly string[]): string | undefined {
  const next = texts[texts.findIndex(text => questions.has(text)) + 1] ?? '';
  if (!texts.some(text => questions.has(text))) return undefined;
  return finished.has(next) ? 'past' : imagined.has(next) ? 'modal' : undefined;
}

/** Distinguishes "I must not call" and "I need not call". */
function forbiddenOf(texts: readonly string[]): string | undefined {
  const before = texts[texts.indexOf('not') - 1] ?? '';
  return before === 'must' || before === 'need' ? before : undefined;
}

/** Distinguishes "it used to work" and "it is used to working". Ignores "a tool used to sort". */
function usedToOf(texts: readonly string[]): string | undefined {
  const at = texts.findIndex((text, place) => text === 'used' && texts[place + 1] === 'to');
  const before = texts[at - 1] ?? '';
  if (at < 0 || !(subjects.has(before) || be.has(before))) return undefined;
  return String(be.has(before));
}

/** Distinguishes "I remembered to call" and "I remembered calling". */
function rememberedOf(texts: readonly string[]): string | undefined {
  const at = texts.findIndex(text => /^(?:remember|forg[eo]t|regret)/.test(text));
  const next = at < 0 ? '' : (texts[at + 1] ?? '');
  const isAction = next.endsWith('ing') && vocabulary().verbs.has(stemOf(next));
  return next === 'to' ? 'to' : isAction ? 'ing' : undefined;
}

/** True for "break down the costs" and "break the costs", but not for "break the costs down". */
function isOtherParticle(left: readonly string[], right: readonly string[]): boolean {
  const [verb, next = ''] = left;
  const [other, then = ''] = right;
  const isSame = isWord(verb) && stemOf(verb) === stemOf(other);
  if (!isSame || particles.has(next) === particles.has(then)) return false;
  return particles.has(next) ? !right.includes(next) : !left.includes(then);
}
