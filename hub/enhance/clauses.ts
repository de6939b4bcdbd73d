import { beginsTime, endsTime, hasOneTime, isTimeBehind, isTimeOfThing } from './clause-times.ts';
import type { Clause, Term } from './clause-types.ts';
import { closed, vocabulary } from './phrases.ts';
import {
  type Lexeme,
  articles,
  definite,
  prepositions,
  subordinators,
  unchanged,
} from './lexemes.ts';
import { withoutContext } from './language-context.ts';
import type { Sentence } from './terms.ts';
import { activeOf, whoOf } from './voice.ts';
import { wordSet } from './words.ts';

/** Clauses and roles of the words of a sentence. */
export type Structure = {
  readonly clauses: readonly Clause[];
  /** The programming language, if the sentence only names it as the language to use. */
  readonly context: readonly string[];
  /** Nouns that describe an identifier or a path next to them: "the function parseUrl". */
  readonly kinds: readonly string[];
  readonly tense: 'past' | 'present' | undefined;
};

/** Conjunctions that mean something without a clause after them: "until when". */
const lone = wordSet('until since before after');

type DraftChunk = { readonly head: string; readonly terms: Term[] };

type Draft = {
  readonly intent: string;
  readonly clauses: { readonly head: string; readonly chunks: DraftChunk[] }[];
  readonly kinds: string[];
  readonly isForOf: boolean;
  readonly hasOneTime: boolean;
  isDefinite: boolean;
  isPassive: boolean;
};

/** A word and its neighbours. */
type Place = {
  readonly lexeme: Lexeme;
  readonly before: Lexeme | undefined;
  readonly next: Lexeme | undefined;
  readonly afterNext: Lexeme | undefined;
};

const be = wordSet('is are was were be been being am');
const past = wordSet('was were did had');
const present = wordSet('is are do does am');
const perfect = wordSet('has have had');
const doing = wordSet('do does did');
const relatives = wordSet('that which who');
const coordinators = wordSet('and but or then');
const subjects = wordSet('i you we they he she it can will has have should must');

/** Splits a sentence into clauses, and the clauses at their prepositions. `isForOf`: "for" counts as "of". */
export function structureOf({ intent, lexemes: all }: Sentence, isForOf: boolean): Structure {
  const { lexemes, context } = withoutContext(all);
  const flags = { isForOf, hasOneTime: hasOneTime(lexemes), isDefinite: false, isPassive: false };
  const draft: Draft = { intent, clauses: [], kinds: [], ...flags };
  openClause(draft, 'main');
  lexemes.forEach((lexeme, at) => {
    const [before, next, afterNext] = [lexemes[at - 1], lexemes[at + 1], lexemes[at + 2]];
    const place = { lexeme, before, next, afterNext };
    const isRead = (lexeme.kind === 'word' ? readers : [readComma]).some(read =>
      read(draft, place),
    );
    if (!isRead) addTerm(draft, place);
  });
  const clauses = draft.clauses
    .filter(clause => !isBlank(clause) || lone.has(clause.head))
    .map(clause => (intent === 'bywhom' ? whoOf(clause) : clause))
    .flatMap(activeOf)
    .map(({ head, chunks }) => ({
      head,
      chunks: chunks.filter(chunk => chunk.head !== '' || chunk.terms.length > 0),
    }));
  return { clauses, context, kinds: draft.kinds.toSorted(), tense: tenseOf(all) };
}

function tenseOf(lexemes: readonly Lexeme[]): Structure['tense'] {
  const isPast = lexemes.some(({ text }) => past.has(text));
  if (isPast === lexemes.some(({ text }) => present.has(text))) return undefined;
  return isPast ? 'past' : 'present';
}

const isVerb = (lexeme: Lexeme | undefined): boolean =>
  lexeme !== undefined &&
  lexeme.kind !== 'name' &&
  (lexeme.form === 'ed' || vocabulary().verbs.has(lexeme.stem));

const clauseOf = ({ clauses }: Draft) => clauses.at(-1) ?? { head: 'main', chunks: [] };
const termsOf = (draft: Draft): Term[] => clauseOf(draft).chunks.at(-1)?.terms ?? [];
const isBlank = ({ chunks }: Clause) => chunks.every(({ head, terms }) => !head && !terms.length);
/** True if a clause has only introductory parts so far, such as "in Python,". */
const isBare = ({ chunks }: Clause) => chunks.every(({ head, terms }) => head || !terms.length);

function openClause(draft: Draft, head: string): true {
  const last = draft.clauses.at(-1);
  if (last?.head === 'main' && isBlank(last)) draft.clauses.pop();
  draft.clauses.push({ head, chunks: [{ head: '', terms: [] }] });
  draft.isDefinite = false;
  return true;
}

function openChunk(draft: Draft, head: string): true {
  clauseOf(draft).chunks.push({ head, terms: [] });
  draft.isDefinite = false;
  return true;
}

function addTerm(draft: Draft, { lexeme, before, next }: Place): void {
  const isAction = isVerb(lexeme);
  const isPast = unchanged.has(lexeme.text) && (be.has(before?.text ?? '') || next?.text === 'by');
  const written = isPast ? 'ed' : lexeme.form;
  const form = draft.isPassive && written === 'ed' ? 'passive' : written;
  const isDefinite = draft.isDefinite && (!isAction || definite.has(before?.text ?? ''));
  termsOf(draft).push({ stem: lexeme.stem, form, raw: lexeme.raw, isVerb: isAction, isDefinite });
  if (form === 'passive') draft.isPassive = false;
  if (isAction && !isDefinite) draft.isDefinite = false;
}

/** Returns a term that is neither a verb nor definite, in its plain form. */
export const plainTerm = (stem: string, raw: string): Term => ({
  stem,
  form: 'plain',
  raw,
  isVerb: false,
  isDefinite: false,
});

/** Functions that read a word by its role, and return whether they did. A word that none reads is a term. */
const readers: readonly ((draft: Draft, place: Place) => boolean)[] = [
  readCoordinator,
  readAuxiliary,
  readRelative,
  readDropped,
  readPreposition,
  readQuestion,
  readTime,
  readSubject,
  readKind,
];

/** Reads a comma. After "in Python," the clause begins; before ", in Python" it continues. */
function readComma(draft: Draft, { lexeme: { kind }, next }: Place): boolean {
  if (kind !== 'stop') return false;
  const clause = clauseOf(draft);
  const goesOn = next !== undefined && prepositions.has(next.text);
  if (clause.head === 'main' && isBare(clause)) return openChunk(draft, '');
  return clause.head === 'main' && goesOn ? true : openClause(draft, 'main');
}

/** Reads "and", "or", "but" and "then", which join two words or begin a clause. */
function readCoordinator(draft: Draft, { lexeme: { text }, next, afterNext }: Place): boolean {
  if (!coordinators.has(text)) return false;
  const isPair =
    (text === 'and' || text === 'or') &&
    termsOf(draft).length > 0 &&
    next !== undefined &&
    !(isVerb(next) && hasObject(afterNext)) &&
    !subordinators.has(next.text) &&
    !prepositions.has(next.text);
  if (!isPair) openClause(draft, 'main');
  draft.isDefinite = false;
  if (isPair || text !== 'and') termsOf(draft).push(plainTerm(text === 'and' ? '&' : text, text));
  return true;
}

/** True if a word can be, or begin, the object of the verb before it. */
const hasObject = (lexeme: Lexeme | undefined): boolean =>
  lexeme !== undefined &&
  lexeme.kind !== 'stop' &&
  !be.has(lexeme.text) &&
  !prepositions.has(lexeme.text);

function readAuxiliary(draft: Draft, { lexeme: { text }, before, next }: Place): boolean {
  const isWhich = draft.intent.startsWith('which');
  if (be.has(text)) {
    // The files are the object, not the subject, in "which files are imported by X" and "files that are imported by X".
    draft.isPassive = !isWhich && !relatives.has(before?.text ?? '');
    return true;
  }
  if (perfect.has(text)) return next?.text === 'been' || next?.form === 'ed';
  if (text === 'can' || text === 'will')
    return clauseOf(draft).head === 'rel' && termsOf(draft).length === 0;
  if (!doing.has(text)) return false;
  return isWhich && termsOf(draft).length > 0 ? openClause(draft, 'rel') : true;
}

/** Reads a relative clause: "that sorts", "to sort" and "for sorting". "files that are in src" are "files in src". */
function readRelative(draft: Draft, place: Place): boolean {
  const { lexeme, before, next } = place;
  const { text } = lexeme;
  const isRelative =
    (relatives.has(text) && beginsClause(before, next)) ||
    (text === 'to' && isVerb(next)) ||
    (text === 'for' && next?.form === 'ing' && isVerb(next));
  // "a class representing X" is "a class that represents X".
  const isReduced = lexeme.form === 'ing' && !draft.isPassive && isReducedAt(draft, place);
  if (isReduced) openClause(draft, 'rel');
  if (!isRelative) return false;
  return next && be.has(next.text) ? true : openClause(draft, 'rel');
}

function isReducedAt(draft: Draft, { lexeme, before, next }: Place): boolean {
  const isNoun = before?.kind === 'word' && !isVerb(before) && !closed.has(before.text);
  const isObject = articles.has(next?.text ?? '') || definite.has(next?.text ?? '');
  return isNoun && isObject && isVerb(lexeme) && termsOf(draft).length > 0;
}

function beginsClause(before: Lexeme | undefined, next: Lexeme | undefined): boolean {
  if (!before || !next || prepositions.has(before.text)) return false;
  const isSubject =
    /^\p{Lu}/u.test(next.raw) || [articles, definite, be, subjects].some(set => set.has(next.text));
  return isSubject || doing.has(next.text) || isVerb(next) || !isVerb(before);
}

function readDropped(draft: Draft, { lexeme: { text }, before }: Place): boolean {
  // "create a new branch" is "create a branch", but "the new parser" is another parser than "the parser".
  if (text === 'new')
    return /^an?$/.test(before?.text ?? '') || (draft.intent === 'write' && before === undefined);
  if (text === 'all' && /^(?:list|which|give|what)/.test(draft.intent))
    return isBare(clauseOf(draft)) && clauseOf(draft).chunks.at(-1)?.head === '';
  if (text !== 'that' && !vocabulary().dropped.has(text)) return false;
  draft.isDefinite ||= definite.has(text);
  return true;
}

function readPreposition(draft: Draft, { lexeme: { text }, before, next }: Place): boolean {
  if (subordinators.has(text)) return openClause(draft, text === 'whether' ? 'if' : text);
  if (text === 'for' && /^(?:me|us)$/.test(next?.text ?? '')) return true;
  const head = text === 'for' && !draft.isForOf ? text : prepositions.get(text);
  // In "is using", "using" is a verb and no preposition.
  if (head === undefined || (text === 'using' && be.has(before?.text ?? ''))) return false;
  return openChunk(draft, head);
}

/** Begins a relative clause in a question: "which files import X" are the "files that import X". */
function readQuestion(draft: Draft, { lexeme, before }: Place): boolean {
  const isAction = isVerb(lexeme) && lexeme.form !== 'ed' && !be.has(before?.text ?? '');
  const clause = clauseOf(draft);
  // The verb is elsewhere in "changed by the last commit" and "before you suggest a fix".
  const isElsewhere = clause.head !== 'main' || clause.chunks.at(-1)?.head === 'by';
  const isPredicate = isAction && !isElsewhere && !isBare(clause);
  if (draft.intent.startsWith('which') && draft.clauses.length === 1 && isPredicate)
    openClause(draft, 'rel');
  return false;
}

/** Moves a time to the start of its clause, as it may be anywhere: "every month", "monthly", "next month". */
function readTime(draft: Draft, { lexeme, before, next }: Place): boolean {
  if (!draft.hasOneTime || isTimeOfThing(lexeme, before)) return false;
  const { chunks } = clauseOf(draft);
  if (isTimeBehind(lexeme, next, chunks.at(-1)?.head === '')) return false;
  const term = plainTerm(lexeme.stem, lexeme.raw);
  const [first] = chunks;
  if (first?.head === '~time' && endsTime(lexeme, before)) first.terms.push(term);
  else if (beginsTime(lexeme, next)) chunks.unshift({ head: '~time', terms: [term] });
  else return false;
  return true;
}

const pronouns = wordSet('i we you they he she it');

/** Begins the subject after an introduction with a preposition: "under load it fails". */
function readSubject(draft: Draft, { lexeme: { text }, before }: Place): boolean {
  const clause = clauseOf(draft);
  const isIntroduced =
    pronouns.has(text) &&
    clause.chunks.every(({ head, terms }) => head !== '' || terms.length === 0) &&
    termsOf(draft).length > 0 &&
    !prepositions.has(before?.text ?? '');
  if (isIntroduced) openChunk(draft, '');
  return false;
}

function readKind(draft: Draft, { lexeme: { stem }, before, next }: Place): boolean {
  const isNamed = [before, next].some(
    other => other?.kind === 'identifier' || other?.kind === 'path',
  );
  if (!isNamed || !vocabulary().kinds.has(stem)) return false;
  draft.kinds.push(stem);
  return true;
}
