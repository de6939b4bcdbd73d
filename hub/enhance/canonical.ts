import { partsOf, plain, withoutFiller, withoutShouting } from './canonical-text.ts';
import { setBounded } from '#core';
import { withoutIdioms } from './idioms.ts';
import { withPlainNotations } from './notations.ts';
import { isAsWritten } from './spelling.ts';
import { withPlainCode } from './technical-names.ts';
import { withTextNamed } from './text-requests.ts';
import { type Token, tokensOf } from './tokens.ts';
import * as words from './words.ts';

export type Canonical = {
  /** Tokens by which prompts are compared. Prompts with equal sequences are the same request. */
  readonly sequence: readonly string[];
  /** Tokens of the request, without punctuation. */
  readonly head: readonly Token[];
  /** Tokens of the request, with punctuation. */
  readonly tokens: readonly Token[];
  /** Tokens of the text that the request is about. */
  readonly payload: readonly Token[];
  /** The text that the request is about, as written. */
  readonly payloadText: string;
  readonly language: string | undefined;
};

/** Returns the words and the punctuation of a request, in lower case. */
export const textsOf = ({ tokens }: Canonical): readonly string[] =>
  tokens.map(({ text }) => text.toLowerCase());

/** Unambiguous contractions, each with the words it stands for. */
const contractions: ReadonlyMap<string, readonly string[]> = new Map(
  words
    .rowsOf(
      `can't can not | cannot can not | won't will not | shan't shall not | what's what is |
      where's where is | how's how is | who's who is | that's that is | there's there is |
      here's here is | it's it is | let's let us | i'm I am | why's why is | when's when is | he's he is |
      she's she is | everything's everything is | something's something is | nothing's nothing is | gimme give me |
      lemme let me | wanna want to | gonna going to | gotta got to |
      dont do not | doesnt does not | didnt did not | isnt is not | arent are not | wasnt was not | werent were not |
      cant can not | couldnt could not | shouldnt should not | wouldnt would not | havent have not | hasnt has not |
      hadnt had not | whats what is | wheres where is | hows how is | thats that is | theres there is | im I am |
      ive I have | youre you are | theyre they are | wie's wie es | gibt's gibt es |
      geht's geht es`,
    )
    .map(([short = '', ...long]) => [short, long]),
);
const endings = [
  ["n't", 'not'],
  ["'re", 'are'],
  ["'ve", 'have'],
  ["'ll", 'will'],
] as const;

/** Matches 'd for "would", before the base form of a verb. Before a participle and "better", it means "had". */
const wish =
  /\b(i|we|you|they|he|she|it|that|who|what|how|there)'d (?!better\b|(?:been|had|gone|done|got|made|found|put|sent|said|told|kept|left|lost|built|bought|come|become|run|begun)\b|\p{L}+(?:ed|en|wn)\b)(?=\p{Ll})/giu;

/** The two canonical forms of a prompt, which are mostly equal. The second is computed on demand. */
type Forms = { readonly keyed: Canonical; readonly compared: () => Canonical };

/** Forms of recent prompts: a prompt is used as a key, embedded and compared with several others. */
const recent = new Map<string, Forms>();
const maxRecent = 16;
const maxRememberedLength = 8_000;

/**
 * Returns the canonical form of a prompt, by which results are cached: without politeness, typography and the capitals
 * at the beginning of sentences.
 */
export const canonicalOf = (prompt: string): Canonical => formsOf(prompt).keyed;

/** Returns the canonical form for comparisons, without words that only describe a name: "the file a.txt" is "a.txt". */
export const comparedOf = (prompt: string): Canonical => formsOf(prompt).compared();

function formsOf(prompt: string): Forms {
  const known = recent.get(prompt);
  if (known) return known;
  const forms = readForms(prompt);
  if (prompt.length <= maxRememberedLength) setBounded(recent, prompt, forms, maxRecent);
  return forms;
}

function readForms(prompt: string): Forms {
  const { head: asked, payload } = partsOf(prompt);
  const language = words.languageOf(asked.toLowerCase().match(/[\p{L}'-]+/gu) ?? []);
  const isEnglish = language === 'en' || language === undefined;
  const bare = withoutFiller(asked, payload === '').replaceAll(wish, '$1 would ');
  const read = (coded: string): Canonical => {
    const request = isEnglish ? withoutIdioms(withPlainNotations(withoutShouting(coded))) : bare;
    const head = expanded(tokensOf(request, isEnglish));
    return {
      sequence: [
        ...sequenceOf(head),
        ...(isAsWritten(prompt, asked) ? [`written ${prompt}`] : []),
        ...(payload === '' ? [] : [`payload ${payload}`]),
      ],
      head: head.filter(({ kind }) => kind !== 'stop'),
      tokens: head,
      payload: tokensOf(payload, false).filter(({ kind }) => kind !== 'stop'),
      payloadText: payload,
      language,
    };
  };
  const keyed = read(bare);
  let compared: Canonical | undefined;
  const readCompared = (): Canonical => {
    const coded = withPlainCode(payload === '' ? bare : withTextNamed(bare));
    return !isEnglish || coded === bare ? keyed : read(coded);
  };
  return { keyed, compared: () => (compared ??= readCompared()) };
}

/** Returns the tokens of an English text, with contractions expanded. */
export const readTokens = (text: string): readonly Token[] => expanded(tokensOf(plain(text), true));

/** Expands contractions, and converts capitals at the beginning of sentences to lower case. */
function expanded(tokens: readonly Token[]): readonly Token[] {
  let isHead = true;
  return tokens.flatMap((token, at): readonly Token[] => {
    const atHead = isHead;
    isHead = token.kind === 'stop' && /[.?!;]/.test(token.text);
    if (token.kind !== 'word') return [token];
    const [before, after] = [tokens[at - 1]?.text ?? '', tokens[at + 1]?.text ?? ''];
    if (token.text === 'i' && auxiliaries.has(before.toLowerCase()))
      return [{ ...token, text: 'I' }];
    // "April the 11th" begins with a month, not with a verb.
    const isVerb =
      determiners.has(after.toLowerCase()) && !ordinal.test(tokens[at + 2]?.text ?? '');
    const isLower = atHead && !words.isTypeName(token.text, after);
    return expand(token.text, isLower, isVerb).map(text => ({ kind: 'word', text }));
  });
}

/** Words after the verb of a request. A capitalized word before them is a verb: "Invent a", but not "Swift is". */
const determiners = words.wordSet('a an the my our your this these');
const ordinal = /^(?:first|second|third|\p{L}+th|\d.*)$/u;
const auxiliaries = words.wordSet('do did can could should would must may am have');

function expand(word: string, atHead: boolean, isVerb: boolean): readonly string[] {
  const lower = word.toLowerCase();
  const long = contractions.get(lower);
  if (long) return long;
  const apostrophe = lower.lastIndexOf("'");
  const [short, second] =
    apostrophe < 0 ? [] : (endings.find(([end]) => lower.endsWith(end)) ?? []);
  if (short && second) return [...expand(word.slice(0, -short.length), atHead, isVerb), second];
  // Only capitalized words: "IT" is not "it", and "A" may be a letter.
  const isOpener = isVerb || words.isOpener(lower);
  return [atHead && isOpener && /\p{Lu}\p{Ll}+$/u.test(word) ? lower : word];
}

/** Returns the tokens to compare. Sentence ends are included, except the last one; commas are dropped. */
function sequenceOf(tokens: readonly Token[]): readonly string[] {
  const sequence: string[] = [];
  let isHead = true;
  let isClear = true;
  tokens.forEach((token, at) => {
    if (token.kind === 'stop') {
      const isLast = at === tokens.length - 1;
      // "You can use it?" is not "You can use it.", but "how do I use it" is a question even without a question mark.
      if (token.text.includes('?') && !isClear) sequence.push('?');
      if (/[.?!]/.test(token.text) && !isLast) sequence.push('.');
      // "No, use tabs" is not "no use tabs".
      else if (!isLast && /^word not?$/i.test(sequence.at(-1) ?? '')) sequence.push(',');
      isHead = /[.?!]/.test(token.text);
      return;
    }
    if (isHead) isClear = words.requests.has(token.text) || words.questions.has(token.text);
    isHead = false;
    if (isDash(tokens, at)) return;
    sequence.push(`${token.kind} ${token.text}`);
  });
  return sequence;
}

/** True if a token is a dash between words, which works like a comma. */
function isDash(tokens: readonly Token[], at: number): boolean {
  const isLong = (token: Token | undefined) => token?.kind === 'word' && token.text.length > 1;
  return tokens[at]?.text === '-' && isLong(tokens[at - 1]) && isLong(tokens[at + 1]);
}
