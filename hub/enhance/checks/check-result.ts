import { frame } from '../frame.ts';
import { beginsAsAnswer, isWrittenCode, whyAnswer } from './request-form.ts';
import { isChatter, isRefusal } from './chatter.ts';
import { lostDetails, lostWords, maxListed } from './kept-details.ts';
import { clearLanguage, otherLanguage } from './language.ts';
import { changedNegation } from './negation.ts';
import { bounded, longRuns, proseOf } from './text.ts';
import { unwrap } from './wrapper.ts';

const kinds = [
  'overgrown',
  'refusal',
  'chatter',
  'answered',
  'other_language',
  'lost_detail',
  'changed_negation',
] as const;

/** Reason why the answer of a model is not used. */
export type OutputFault = {
  readonly kind: (typeof kinds)[number];
  /** A sentence about the model. It may quote the prompt. */
  readonly message: string;
};

/** True if the attempt failed because the model's text was rejected. */
export const isOutputFault = ({ kind }: { readonly kind: string }): boolean =>
  kinds.some(known => known === kind);

/** Length in characters up to which a result is never too long: a prompt of three words may become a page. */
const alwaysAllowed = 4000;
/** Maximum number of lost details in a message. `maxNamedLength`: maximum length of each, in characters. */
const maxNamed = 3;
const maxNamedLength = 60;

/**
 * Returns the improved prompt in the answer of a model, or why it is rejected. An announcement, quotes or a fence
 * around the prompt are removed. The result must keep all details, negations and the language of the prompt, must not
 * be an answer, a refusal or chatter, and may be at most `maxGrowth` times as long.
 */
export function checkResult(
  answer: string,
  prompt: string,
  { maxGrowth, systemPrompt }: { readonly maxGrowth: number; readonly systemPrompt: string },
): { readonly text: string } | OutputFault {
  const text = unwrap(answer, prompt);
  const maxLength = Math.max(alwaysAllowed, prompt.length * maxGrowth);
  if (text.length > maxLength)
    return {
      kind: 'overgrown',
      message: `it wrote ${text.length} characters for a prompt of ${prompt.length}: more than the ${Math.floor(maxLength)} that "max_growth" allows`,
    };
  if (text === prompt.trim()) return { text };
  if (text.includes('\ufffd') && !prompt.includes('\ufffd'))
    return { kind: 'lost_detail', message: 'it wrote broken characters' };
  if (isRefusal(text) && !isRefusal(prompt))
    return { kind: 'refusal', message: 'it refused, or spoke of itself' };
  if (isChatter(bounded(text), bounded(prompt), frame('', systemPrompt).system))
    return { kind: 'chatter', message: 'it wrote more than the prompt: talk, or its instructions' };
  const lost = longRuns(prompt).filter(run => !text.includes(run));
  if (lost.length > 0) return { kind: 'lost_detail', message: `it lost ${named(lost)}` };
  return faultInContent(bounded(text), bounded(prompt)) ?? { text };
}

function faultInContent(text: string, prompt: string): OutputFault | undefined {
  const foreign = otherLanguage(prompt, text);
  if (foreign !== undefined) return { kind: 'other_language', message: foreign };
  const language = clearLanguage(proseOf(prompt));
  if (beginsAsAnswer(prompt, text) || isWrittenCode(prompt, text))
    return { kind: 'answered', message: 'it carried the prompt out' };
  const answer = isKnown(prompt, text) ? whyAnswer(prompt, text) : undefined;
  if (answer !== undefined) return { kind: 'answered', message: answer };
  const lost = lostDetails(prompt, text, language);
  if (lost.length > 0) return { kind: 'lost_detail', message: `it lost ${named(lost)}` };
  const negation = changedNegation(prompt, text);
  if (negation !== undefined) return { kind: 'changed_negation', message: negation };
  const missing = lostWords(prompt, text);
  if (missing.length > 0)
    return { kind: 'lost_detail', message: `it lost words of the prompt: ${named(missing)}` };
  return undefined;
}

function named(texts: readonly string[]): string {
  const shown = texts
    .slice(0, maxNamed)
    .map(text => (text.length > maxNamedLength ? `${text.slice(0, maxNamedLength)}…` : text))
    .map(text => text.replaceAll(/\s+/g, ' '));
  const more = texts.length - shown.length;
  const count = texts.length < maxListed ? more : 'many';
  return shown.join(', ') + (more > 0 ? ` and ${count} more` : '');
}

/** True if the language of the texts is one whose verbs are known, or if they are ASCII and may be short English. */
const isKnown = (prompt: string, text: string) => {
  const language = clearLanguage(proseOf(prompt)) ?? clearLanguage(proseOf(text));
  return language !== undefined || /^\p{ASCII}*$/u.test(prompt + text);
};
