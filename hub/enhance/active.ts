import {
  type Lexeme,
  articles,
  definite,
  prepositions,
  subordinators,
  unchanged,
  wordLexeme,
} from './lexemes.ts';
import type { Sentence } from './terms.ts';
import { wordSet } from './words.ts';

const be = wordSet('is are was were be');
const past = wordSet('was were');
const modals = wordSet('can could will would should must may might shall');
/** Words at which a clause begins or ends. */
const boundaries = wordSet(
  'that which who whom whose how why where what and or but then not by to during bydefault',
);
const maxSubject = 6;
const maxRounds = 3;

/** A passive in a list of lexemes, and its parts. It begins at `begin` and ends before `end`; `agent` is who acts. */
type Passive = {
  readonly begin: number;
  readonly end: number;
  readonly subject: readonly Lexeme[];
  readonly modal: readonly Lexeme[];
  readonly verb: Lexeme;
  readonly agent: readonly Lexeme[];
};

/**
 * Rewrites passives in the active: "the uploads are processed by the service" as "the service processes the uploads",
 * also in questions and in subordinate clauses, and "passwords must be stored" as "must store passwords".
 */
export function asActive(sentence: Sentence): Sentence {
  const asked = asWhichActive(asAskedActive(sentence));
  let { lexemes } = asked;
  for (let round = 0; round < maxRounds; round++) {
    const found = passiveIn(lexemes);
    // The question word stays first in "which files were changed by it".
    if (!found || (found.begin === 0 && asked.intent.startsWith('which'))) break;
    const { begin, end, subject, modal, verb, agent } = found;
    // "passwords must be stored" is a wish: "we must store passwords".
    const isWish = begin === 0 && asked.intent === '' && agent.length === 0 && isDuty(modal[0]);
    if (isWish) return { intent: 'want', lexemes: [verb, ...subject, ...lexemes.slice(end)] };
    lexemes = lexemes.toSpliced(begin, end - begin, ...agent, ...modal, verb, ...subject);
  }
  return { intent: asked.intent, lexemes };
}

/** Rewrites "which gas is absorbed by plants" as "which gas do plants absorb", also in "which year was it found by". */
function asWhichActive(sentence: Sentence): Sentence {
  const { intent, lexemes } = sentence;
  const at = lexemes.findIndex(({ text }) => be.has(text));
  const by = lexemes.findIndex(({ text }, place) => place > at && text === 'by');
  const found = agentAt(lexemes, by);
  const action = lexemes.findIndex(({ form }, place) => place > at && form === 'ed');
  if (intent !== 'which' || at < 1 || !found || action < 0 || action > by) return sentence;
  const [asked, object] = [lexemes.slice(0, at), lexemes.slice(at + 1, action)];
  const between = lexemes.slice(action + 1, by);
  const verb = lexemes[action];
  const isPlain =
    isPhrase(asked) &&
    (object.length === 0 || isPhrase(object)) &&
    (between.length === 0 || isAdjunct(between));
  if (!verb || !isPlain) return sentence;
  const does = wordLexeme(past.has(lexemes[at]?.text ?? '') ? 'did' : 'does');
  const rest = [...object, ...between, ...lexemes.slice(found.end)];
  return { intent, lexemes: [...asked, does, ...found.agent, activeForm(verb, false), ...rest] };
}

/** True for a preposition other than "of", followed by a noun phrase: "onto nodes". */
const isAdjunct = ([first, ...others]: readonly Lexeme[]): boolean =>
  first !== undefined && isPlace(first) && isPhrase(others);

const isDuty = (modal: Lexeme | undefined): boolean => modal?.text.replace(/^=/, '') === 'must';

const isBoundary = ({ kind, text, raw }: Lexeme): boolean =>
  kind === 'stop' || boundaries.has(text) || subordinators.has(text) || /\bthat$/i.test(raw);

/** True if the words are one noun phrase, which may contain "of". */
const isPhrase = (lexemes: readonly Lexeme[]): boolean =>
  lexemes.length > 0 &&
  lexemes.length <= maxSubject &&
  !lexemes.some(lexeme => isBoundary(lexeme) || isPlace(lexeme) || be.has(lexeme.text));

const isPlace = ({ text }: Lexeme): boolean => text !== 'of' && prepositions.has(text);

const activeForm = (verb: Lexeme, isPast: boolean): Lexeme => ({
  ...verb,
  form: isPast ? 'ed' : 'plain',
});

function passiveIn(lexemes: readonly Lexeme[]): Passive | undefined {
  for (const [at, { text }] of lexemes.entries()) {
    if (!be.has(text)) continue;
    const found = text === 'be' ? modalPassiveAt(lexemes, at) : plainPassiveAt(lexemes, at);
    if (found) return found;
  }
  return undefined;
}

/** Returns the agent after "by" and the index of its end; undefined if the words after "by" name no agent. */
function agentAt(lexemes: readonly Lexeme[], by: number) {
  if (lexemes[by]?.text !== 'by') return undefined;
  const length = lexemes
    .slice(by + 1)
    .findIndex((lexeme, index) => index > 0 && (isBoundary(lexeme) || isPlace(lexeme)));
  const end = length < 0 ? lexemes.length : by + 1 + length;
  const agent = lexemes.slice(by + 1, end);
  const isActor = agent[0]?.form !== 'ing' && agent.every(({ kind }) => kind !== 'number');
  if (!isPhrase(agent) || !isActor) return undefined;
  const last = endOfName(lexemes, end);
  return {
    agent: lexemes.slice(by + 1, isName(agent) ? last : end),
    end: isName(agent) ? last : end,
  };
}

const isName = (lexemes: readonly Lexeme[]): boolean =>
  lexemes.length > 0 && lexemes.every(({ raw }) => /^\p{Lu}/u.test(raw));

/** Returns the end of a second name after "and", if nothing follows it: "by Spain and Portugal". */
function endOfName(lexemes: readonly Lexeme[], start: number): number {
  const stop = lexemes.findIndex(({ kind }, at) => at > start && kind === 'stop');
  const end = stop < 0 ? lexemes.length : stop;
  return lexemes[start]?.text === 'and' && isName(lexemes.slice(start + 1, end)) ? end : start;
}

/** Returns the index at which the noun phrase before `end` begins. */
const beginOf = (lexemes: readonly Lexeme[], end: number): number =>
  lexemes.findLastIndex(
    (lexeme, at) => at < end && (isBoundary(lexeme) || isPlace(lexeme) || be.has(lexeme.text)),
  ) + 1;

/** Finds a passive with "by": "threads are scheduled by the kernel", "is the object freed by the collector". */
function plainPassiveAt(lexemes: readonly Lexeme[], at: number): Passive | undefined {
  const isPast = past.has(lexemes[at]?.text ?? '');
  const isFirst = beginOf(lexemes, at) === at;
  const by = lexemes.findIndex(({ text }, place) => place > at && text === 'by');
  const between = isFirst ? [] : lexemes.slice(at + 2, by);
  const action = lexemes[by - 1 - between.length];
  const found = agentAt(lexemes, by);
  const isNear = isFirst || between.length === 0 || isAdjunct(between);
  if (!found || action?.form !== 'ed' || !isNear) return undefined;
  const begin = isFirst ? at : beginOf(lexemes, at);
  const subject = isFirst ? lexemes.slice(at + 1, by - 1) : lexemes.slice(begin, at);
  if (!isPhrase(subject)) return undefined;
  const object = [...subject, ...between];
  return { begin, ...found, subject: object, modal: [], verb: activeForm(action, isPast) };
}

/** Finds a passive with a modal verb, with or without an agent: "passwords must be stored". */
function modalPassiveAt(lexemes: readonly Lexeme[], at: number): Passive | undefined {
  const [modal, action] = [lexemes[at - 1], lexemes[at + 1]];
  const isParticiple = action?.form === 'ed' || unchanged.has(action?.text ?? '');
  const asked = isParticiple && action ? askedPassiveAt(lexemes, at, action) : undefined;
  if (asked) return asked;
  if (!modal || !action || !modals.has(modal.text.replace(/^=/, '')) || !isParticiple)
    return undefined;
  const begin = beginOf(lexemes, at - 1);
  const subject = lexemes.slice(begin, at - 1);
  if (!isPhrase(subject)) return undefined;
  const { agent, end } = agentAt(lexemes, at + 2) ?? { agent: [], end: at + 2 };
  return { begin, end, subject, modal: [modal], verb: activeForm(action, false), agent };
}

/** Finds a passive in a question with a modal verb: "can the mails be read by the boss". */
function askedPassiveAt(
  lexemes: readonly Lexeme[],
  at: number,
  action: Lexeme,
): Passive | undefined {
  const begin = lexemes.findLastIndex(
    ({ text }, place) => place < at && modals.has(text.replace(/^=/, '')),
  );
  const [modal, subject] = [lexemes[begin], lexemes.slice(begin + 1, at)];
  const found = agentAt(lexemes, at + 2);
  const isFirst = begin === 0 || lexemes[begin - 1]?.kind === 'stop';
  if (!modal || !found || !isFirst || !isPhrase(subject)) return undefined;
  return { begin: begin + 1, ...found, subject, modal: [], verb: activeForm(action, false) };
}

/** Rewrites "by which service are files read" as "which service reads files", and "by whom was it read" with "who". */
function asAskedActive(sentence: Sentence): Sentence {
  const { intent, lexemes } = sentence;
  const at = lexemes.findIndex(({ text }) => be.has(text));
  const action = lexemes.at(-1);
  const isPast = past.has(lexemes[at]?.text ?? '');
  if (at < 0 || action?.form !== 'ed') return sentence;
  const verb = activeForm(action, isPast);
  const object = lexemes.slice(at + 1, -1);
  const isObject = object.length > 0 && !object.some(isBoundary);
  if (intent === 'bywhom' && at === 0 && isObject)
    return { intent: 'who', lexemes: [verb, ...object] };
  if (intent !== 'which' || lexemes[0]?.text !== 'by') return sentence;
  const agent = lexemes.slice(1, at);
  if (isPhrase(agent) && isPhrase(object)) return { intent, lexemes: [...agent, verb, ...object] };
  // The question may be indirect: "find out by which function parseUrl is called".
  const split = agent.findIndex(
    ({ kind, text }, index) =>
      index > 0 && (kind !== 'word' || articles.has(text) || definite.has(text)),
  );
  if (object.length > 0 || split < 0 || !isPhrase(agent)) return sentence;
  return { intent, lexemes: [...agent.slice(0, split), verb, ...agent.slice(split)] };
}
