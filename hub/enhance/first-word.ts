import type { Canonical } from './canonical.ts';
import { closed } from './phrases.ts';
import type { Token } from './tokens.ts';

/**
 * Converts the first word of the first prompt to lower case if the second prompt has it so after "a" and before the
 * same noun: "Pancake" in "Pancake recipe" is no name if the other prompt is "Give me a pancake recipe", but "Apple"
 * may be one in "Apple is bought by whom".
 */
export function withFirstWordOf(a: Canonical, others: Canonical): Canonical {
  const [first, ...rest] = a.tokens;
  if (first?.kind !== 'word' || !/^\p{Lu}\p{Ll}+$/u.test(first.text)) return a;
  const lower: Token = { kind: 'word', text: first.text.toLowerCase() };
  const at = others.tokens.findIndex(({ text }) => text === lower.text);
  const [before, , next] = others.tokens.slice(Math.max(0, at - 1));
  const isBeforeNoun =
    next?.kind === 'word' && next.text === rest[0]?.text && !closed.has(next.text);
  if (at < 1 || !isBeforeNoun || !/^an?$/.test(before?.text ?? '')) return a;
  const tokens = [lower, ...rest];
  return { ...a, tokens, head: tokens.filter(({ kind }) => kind !== 'stop') };
}
