import { tokensOf } from './tokens.ts';
import { negators } from './words.ts';

/** A part of a prompt that must not be worded differently. */
export type Detail = {
  readonly kind: 'code' | 'url' | 'path' | 'quote' | 'identifier' | 'name' | 'number' | 'negation';
  /** Text as written, except: code without its fence, numbers in digits with unit, names in their common spelling. */
  readonly text: string;
};

const fence = /```(?:[\w+-]*\n)?([\s\S]*?)(?:```|$)/g;

/** Returns the details of a prompt in their order, code blocks first. Repeated details are repeated. */
export function detailsOf(text: string): readonly Detail[] {
  const blocks = [...text.matchAll(fence)].map(([, code = '']) => code.trim()).filter(Boolean);
  const prose = text.replaceAll(fence, '\n').replaceAll(/[\u2018\u2019]/g, "'");
  const details = tokensOf(prose, true).flatMap(({ kind, text: found }): readonly Detail[] => {
    if (kind === 'word') return isNegation(found) ? [{ kind: 'negation', text: found }] : [];
    if (kind === 'sign' || kind === 'stop') return [];
    if (kind === 'quote' && found.startsWith('`'))
      return [{ kind: 'code', text: found.slice(1, -1) }];
    return [{ kind: kind === 'path' && found.includes('://') ? 'url' : kind, text: found }];
  });
  return [...blocks.map(code => ({ kind: 'code', text: code }) as const), ...details];
}

const isNegation = (word: string) => negators.has(word.toLowerCase()) || /n't$/i.test(word);
