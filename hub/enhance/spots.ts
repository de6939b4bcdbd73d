import { withSortedAdjectives } from './adjectives.ts';
import { withPlainAmounts } from './amounts.ts';
import { type Canonical, readTokens } from './canonical.ts';
import type { Chunk, Clause, Term } from './clause-types.ts';
import { plainTerm, structureOf } from './clauses.ts';
import { withLateIntroductions } from './introductions.ts';
import { withEarlyMeasures } from './measured-things.ts';
import { vocabulary } from './phrases.ts';
import { requestsOf } from './request-parts.ts';
import type { Token } from './tokens.ts';
import { negators, tableOf, wordSet } from './words.ts';

/** A meaningful word and its place in a prompt. */
export type Spot = Term & {
  /** True for the verb of a request or the word of a question. */
  readonly isAsk: boolean;
  readonly isNegated: boolean;
  /** Class of the preposition before the word; "" if there is none. */
  readonly preposition: string;
  /** Part of the sentence that begins with this word, and can move as a whole. */
  readonly begins: 'clause' | 'chunk' | 'item' | undefined;
  /** True if "or" is before the word. */
  readonly isChoice: boolean;
  /** Conjunction of the clause; `main` or `rel` if it has none. */
  readonly clauseHead: string;
  readonly clause: number;
  /** Number of the sentence, or of the request if a sentence has several. */
  readonly part: number;
};

/** A prompt as a list of its meaningful words. */
export type Spots = {
  readonly spots: readonly Spot[];
  /** Programming languages that sentences only name as the language to use. */
  readonly context: readonly string[];
  readonly kinds: readonly string[];
  /** Conjunctions of all subordinate clauses. */
  readonly conjunctions: readonly string[];
  readonly tense: 'past' | 'present' | undefined;
  readonly negations: number;
  /** Number of alternatives, which is the number of "or". */
  readonly alternatives: number;
  /** True if words such as "then" or "first" define an order of steps. */
  readonly isSequence: boolean;
};

const sequenceWords = wordSet(
  'then first firstly second secondly third next finally afterwards afterward lastly respectively',
);
/** Words before "order" and "sequence" that refer to the order of the words. */
const given = wordSet('in this that the following same exact given');
const freeHeads = wordSet('main rel so');
/** Conjunctions that are compared as another one. "unless" is compared as "if" with a negation. */
const conjunctions = tableOf('unless if | when if | once after | till until');
const conjunctionOf = (head: string): string => conjunctions.get(head) ?? head;
const negations = wordSet('not no never without nor neither');

/** Names of the verbs of requests where they are not at the beginning of a sentence. */
const asks = tableOf(
  `write =create | list =show | give =show | find =find | calculate =calculate | suggest =suggest | compare =compare |
  translate =translate | summarize =summarize | explain =explain | check ?whether | explainhow how | howto howto |
  bywhom ?who | which ?what | whichlist ?what`,
);

/** Matches requests about another text after the colon. This text must be equal letter by letter. */
const carrying =
  /\b(?:translat\w*|grammar|proofread|spell\w*|rewrit\w*|rephras\w*|paraphras\w*|reword|summar\w*|classif\w*|sentiment|complete|continue|text|sentences?|paragraphs?|following|below|messages?|error|code|words?|phrase|docstring|json|regex|quer(?:y|ies)|question|answer|say|print|echo|diff|strings?|output|input|title|quote|convert|format|parse|count|correct|shorten|improve)\b/i;

/** True if the words after the colon continue the request, and are not a text that it is about. */
export function isContinued(canonical: Canonical): boolean {
  if (canonical.payloadText === '') return true;
  const asked = canonical.head.map(({ text }) => text).join(' ');
  return isProse(canonical) && !carrying.test(asked);
}

/** True if the text after the colon is one line without code. */
export const isProse = ({ payload, payloadText }: Canonical): boolean =>
  !payloadText.includes('\n') && !payload.some(({ kind }) => kind === 'sign' || kind === 'quote');

/** Reads the meaningful words of an English prompt. `isWhole`: includes the words after the colon. */
export function spotsOf({ tokens, payloadText }: Canonical, isWhole: boolean): Spots {
  const written = withPlainAmounts(
    withLateIntroductions([
      ...tokens,
      ...(isWhole && payloadText !== '' ? [colon, ...readTokens(payloadText)] : []),
    ]),
  );
  const all = withSortedAdjectives(withEarlyMeasures(written));
  const sentences = requestsOf(all);
  const structures = sentences.map(sentence => structureOf(sentence, false));
  const spots: Spot[] = [];
  sentences.forEach(({ intent }, part) => {
    const place: Place = { spots, part };
    const ask = asks.get(intent) ?? (intent === '' ? undefined : `?${intent}`);
    if (ask !== undefined) addAsk(place, ask, intent);
    for (const clause of structures[part]?.clauses ?? []) addClause(place, clause);
  });
  const tenses = new Set(structures.map(({ tense }) => tense));
  const texts = all.map(({ text }) => text.toLowerCase());
  return {
    spots,
    context: structures.flatMap(({ context }) => context).toSorted(),
    kinds: structures.flatMap(({ kinds }) => kinds).toSorted(),
    conjunctions: structures
      .flatMap(({ clauses }) => clauses.map(({ head }) => conjunctionOf(head)))
      .filter(head => !freeHeads.has(head))
      .toSorted(),
    tense: tenses.has('past') ? 'past' : tenses.has('present') ? 'present' : undefined,
    negations: texts.filter(text => negators.has(text)).length,
    alternatives: texts.filter(text => text === 'or').length,
    isSequence: texts.some(
      (text, at) => sequenceWords.has(text) || isGivenOrder(text, texts[at - 1]),
    ),
  };
}

/** True for the last word of "Rome, Bern and Ulm in that order". */
const isGivenOrder = (text: string, before = ''): boolean =>
  (text === 'order' || text === 'sequence') && given.has(before);

const colon: Token = { kind: 'stop', text: ':' };

type Place = { readonly spots: Spot[]; readonly part: number };

function addAsk({ spots, part }: Place, stem: string, intent: string): void {
  const clause = (spots.at(-1)?.clause ?? 0) + 1;
  spots.push({
    ...plainTerm(stem, intent),
    isVerb: true,
    isAsk: true,
    isNegated: false,
    preposition: '',
    begins: 'clause',
    isChoice: false,
    clauseHead: 'main',
    clause,
    part,
  });
}

function addClause({ spots, part }: Place, { head, chunks }: Clause): void {
  const clause = (spots.at(-1)?.clause ?? 0) + 1;
  const { neutral, light } = vocabulary();
  let begins: Spot['begins'] = 'clause';
  let isNegated = head === 'unless';
  let isChoice = false;
  const add = (term: Term, preposition: string, negated: boolean) => {
    const clauseHead = conjunctionOf(head);
    const place = { preposition, begins, isChoice, clauseHead, clause, part };
    spots.push({ ...term, ...place, isAsk: false, isNegated: negated });
    begins = undefined;
    isChoice = false;
  };
  for (const chunk of chunks) {
    if (begins === undefined && chunk.head !== '') begins = 'chunk';
    isNegated ||= chunk.head === 'without';
    let preposition = chunk.head === 'without' ? '' : chunk.head;
    for (const term of withLateOnly(withPassiveFirst(chunk))) {
      if (negations.has(term.stem)) isNegated = true;
      else if (term.stem === '&' || term.stem === 'or') {
        begins ??= 'item';
        isChoice = term.stem === 'or';
      }
      // A clause begins after a preposition with "which": "a story in which a keeper finds a letter".
      else if (term.stem === 'which' && preposition !== '') [preposition, begins] = ['', 'clause'];
      // "is not any room" is "is no room".
      else if (term.stem !== 'then' && !(isNegated && term.stem === 'any')) {
        // The negation passes to the next word: "has no key" is "without a key".
        const isPassedOn =
          isNegated && (neutral.has(term.stem) || light.has(term.raw.toLowerCase()));
        add(term, preposition, isNegated && !isPassedOn);
        isNegated &&= isPassedOn;
      }
    }
  }
  if (isNegated) add(plainTerm('not', 'not'), '', true);
}

/** Rewrites "sessions are handled" as "handle sessions". */
function withPassiveFirst({ head, terms }: Chunk): readonly Term[] {
  const at = head === '' ? terms.findIndex(({ form }) => form === 'passive') : -1;
  const verb = terms[at];
  const isNot = negations.has(terms[at - 1]?.stem ?? '');
  const begin = isNot ? at - 1 : at;
  const subject = terms.slice(0, Math.max(begin, 0));
  if (!verb || subject.some(({ stem }) => stem === '&' || negations.has(stem))) return terms;
  return [
    ...terms.slice(begin, at),
    { ...verb, form: 'plain' },
    ...subject,
    ...terms.slice(at + 1),
  ];
}

/** Rewrites "only use tabs" as "use only tabs". */
function withLateOnly(terms: readonly Term[]): readonly Term[] {
  const at = terms.findIndex(({ stem }, place) => stem === 'only~' && terms[place + 1]?.isVerb);
  const [only, verb] = [terms[at], terms[at + 1]];
  return only && verb && terms.length > at + 2 ? terms.toSpliced(at, 2, verb, only) : terms;
}
