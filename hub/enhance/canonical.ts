import { withoutFiller } from './canonical-filler.ts';
import { partsOf } from './canonical-text.ts';
import { type Token, tokensOf } from './canonical-tokens.ts';
import { isOpener, languageOf, questions, requests, wordSet, wordsOf } from './words.ts';

/** The canonical form of a prompt. */
export type Canonical = {
  /** Prompts with equal sequences are the same request. */
  readonly sequence: readonly string[];
  /** Tokens of the request. */
  readonly head: readonly Token[];
  /** The same tokens, split at punctuation. */
  readonly clauses: readonly (readonly Token[])[];
  /** Tokens of the text that the request is about. */
  readonly payload: readonly Token[];
  /** That text as written. */
  readonly payloadText: string;
  readonly language: string | undefined;
};

/** Unambiguous contractions. */
const contractions: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "can't": 'can not',
    cannot: 'can not',
    "won't": 'will not',
    "shan't": 'shall not',
    "what's": 'what is',
    "where's": 'where is',
    "how's": 'how is',
    "who's": 'who is',
    "that's": 'that is',
    "there's": 'there is',
    "here's": 'here is',
    "it's": 'it is',
    "let's": 'let us',
    "i'm": 'I am',
    "wie's": 'wie es',
    "gibt's": 'gibt es',
    "geht's": 'geht es',
  }).map(([short, long]) => [short, long.split(' ')]),
);
const endings: readonly (readonly [RegExp, string])[] = [
  [/n't$/, 'not'],
  [/'re$/, 'are'],
  [/'ve$/, 'have'],
  [/'ll$/, 'will'],
];

/** Here 'd means "would"; elsewhere it may mean "had". */
const wish = /\b(i|we|you)'d (?=like\b|love\b|prefer\b)/gi;

/** Drops politeness, typography and the case of the first word of each sentence. Keeps everything else. */
export function canonicalOf(prompt: string): Canonical {
  const { head: asked, payload } = partsOf(prompt);
  const language = languageOf(wordsOf(asked.toLowerCase().replaceAll(/[^\p{L}'\s-]/gu, ' ')));
  const isEnglish = language === 'en' || language === undefined;
  const request = withoutFiller(asked, payload === '').replaceAll(wish, '$1 would ');
  const head = expanded(tokensOf(request, isEnglish));
  return {
    sequence: [...sequenceOf(head), ...(payload === '' ? [] : [`payload ${payload}`])],
    head: head.filter(({ kind }) => kind !== 'stop'),
    clauses: clausesOf(head),
    payload: tokensOf(payload, false).filter(({ kind }) => kind !== 'stop'),
    payloadText: payload,
    language,
  };
}

function clausesOf(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const clauses: Token[][] = [[]];
  for (const token of tokens)
    if (token.kind === 'stop') clauses.push([]);
    else clauses.at(-1)?.push(token);
  return clauses;
}

/** Expands contractions and lowers the capitals at the beginning of sentences. */
function expanded(tokens: readonly Token[]): readonly Token[] {
  let isHead = true;
  return tokens.flatMap((token, at): readonly Token[] => {
    const atHead = isHead;
    isHead = token.kind === 'stop' && /[.?!;]/.test(token.text);
    if (token.kind !== 'word') return [token];
    const [before, after] = [tokens[at - 1]?.text ?? '', tokens[at + 1]?.text ?? ''];
    // In "List is empty", List may be a type.
    const isNoun = requests.has(token.text.toLowerCase()) && predicates.has(after);
    if (token.text === 'i' && auxiliaries.has(before.toLowerCase()))
      return [{ ...token, text: 'I' }];
    return expand(token.text, atHead && !isNoun).map(text => ({ kind: 'word', text }));
  });
}

const auxiliaries = wordSet('do did can could should would must may am have');
const predicates =
  wordSet(`is are was were should must has have does can will may returns contains gets
  throws inherits extends implements equals`);

function expand(word: string, atHead: boolean): readonly string[] {
  const lower = word.toLowerCase();
  const long = contractions.get(lower);
  if (long) return long;
  const [ending, second] = endings.find(([pattern]) => pattern.test(lower)) ?? [];
  if (ending && second) return [...expand(word.replace(ending, ''), atHead), second];
  // "IT" is not "it", and "A" may be a letter of its own.
  return [atHead && isOpener(lower) && /\p{Lu}\p{Ll}+$/u.test(word) ? lower : word];
}

/** The tokens to compare. Ends of sentences stay, except the last one; commas are dropped. */
function sequenceOf(tokens: readonly Token[]): readonly string[] {
  const sequence: string[] = [];
  let isHead = true;
  let isClear = true;
  tokens.forEach((token, at) => {
    if (token.kind === 'stop') {
      const isLast = at === tokens.length - 1;
      // "You can use it?" is not "You can use it.", but "how do I use it" needs no question mark.
      if (token.text.includes('?') && !isClear) sequence.push('?');
      if (/[.?!]/.test(token.text) && !isLast) sequence.push('.');
      // "No, use tabs" is not "no use tabs".
      else if (!isLast && /^word not?$/i.test(sequence.at(-1) ?? '')) sequence.push(',');
      isHead = /[.?!]/.test(token.text);
      return;
    }
    if (isHead) isClear = requests.has(token.text) || questions.has(token.text);
    isHead = false;
    if (isDash(tokens, at)) return;
    sequence.push(`${token.kind} ${token.text}`);
  });
  return sequence;
}

/** Whether a token is a dash between words, used like a comma. */
function isDash(tokens: readonly Token[], at: number): boolean {
  const isLong = (token: Token | undefined) => token?.kind === 'word' && token.text.length > 1;
  return tokens[at]?.text === '-' && isLong(tokens[at - 1]) && isLong(tokens[at + 1]);
}
