import type { Canonical } from './canonical.ts';
import { staysCompound } from './lexemes.ts';
import { closed } from './phrases.ts';
import type { Token } from './tokens.ts';
import { wordSet } from './words.ts';

/** Words that mean something else with a hyphen: "re-sign" is not "resign". */
const other = wordSet(
  'recollect recover recreation reform relay release remark represent repress resent reserve resign resort',
);
const minPart = 2;
const minWhole = 6;

/** Returns the words of a prompt in lower case. */
const wordsIn = ({ tokens, payload }: Canonical): ReadonlySet<string> =>
  new Set(
    [...tokens, ...payload].flatMap(({ kind, text }) =>
      kind === 'word' ? [text.toLowerCase()] : [],
    ),
  );

/**
 * Spells compounds of the first prompt like the second prompt: "time sheet" and "pre-commit" as "timesheet" and
 * "precommit", and "back-up" as "back up", if the second prompt has those.
 */
export function withCompoundsOf(a: Canonical, others: Canonical): Canonical {
  const theirs = wordsIn(others);
  const mine = wordsIn(a);
  const isWhole = (word: string) =>
    word.length >= minWhole &&
    theirs.has(word) &&
    !mine.has(word) &&
    !closed.has(word) &&
    !other.has(word);
  const text = others.tokens.map(token => token.text.toLowerCase()).join(' ');
  const areApart = (word: string) =>
    !theirs.has(word) &&
    !staysCompound(word) &&
    ` ${text} `.includes(` ${word.replaceAll('-', ' ')} `);
  const tokens = joined(a.tokens, isWhole, areApart);
  if (tokens === a.tokens) return a;
  return {
    ...a,
    tokens,
    head: tokens.filter(({ kind }) => kind !== 'stop'),
    payload: joined(a.payload, isWhole, areApart),
  };
}

function joined(
  tokens: readonly Token[],
  isWhole: (word: string) => boolean,
  areApart: (word: string) => boolean,
): readonly Token[] {
  const done: Token[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const [token, next] = [tokens[at], tokens[at + 1]];
    if (!token) break;
    const [first, second] = [token, next].map(item =>
      item?.kind === 'word' && !closed.has(item.text) ? item.text.toLowerCase() : '',
    );
    const hyphened = first?.includes('-') ? first.replaceAll('-', '') : '';
    const isPair =
      first !== undefined &&
      second !== undefined &&
      Math.min(first.length, second.length) >= minPart &&
      isWhole(first + second);
    if (isPair) {
      done.push({ kind: 'word', text: first + second });
      at++;
    } else if (isWhole(hyphened)) done.push({ kind: 'word', text: hyphened });
    else if (first?.includes('-') && areApart(first))
      done.push(...first.split('-').map(text => ({ kind: 'word', text }) as const));
    else done.push(token);
  }
  return done.every((token, at) => token === tokens[at]) ? tokens : done;
}
