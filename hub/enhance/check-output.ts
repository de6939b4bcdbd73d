/** Why the answer of a model is not used. */
export type OutputFault = {
  readonly kind: 'overgrown' | 'refusal';
  /** A sentence about the model. */
  readonly message: string;
};

/** A result up to this length, in characters, is never too long: a prompt of three words may become a page. */
const alwaysAllowed = 4000;

/**
 * Checks a result: it may be at most `maxGrowth` times as long as its prompt, and must not be a refusal. `models`
 * has already rejected answers that are empty, cut off or thoughts only.
 */
export function findFault(
  text: string,
  prompt: string,
  maxGrowth: number,
): OutputFault | undefined {
  const maxLength = Math.max(alwaysAllowed, prompt.length * maxGrowth);
  if (text.length > maxLength)
    return {
      kind: 'overgrown',
      message: `it wrote ${text.length} characters for a prompt of ${prompt.length}: more than the ${Math.floor(maxLength)} that "max_growth" allows`,
    };
  if (isRefusal(text) && !isRefusal(prompt))
    return { kind: 'refusal', message: 'it refused, or spoke of itself' };
  return undefined;
}

/** Beginnings of refusals, and of answers in which a model talks about itself. */
const refusals = [
  /^(?:i['’]m |i am )?(?:very |so |really )?sorry,? (?:but )?(?:i|as an|that|this)\b/i,
  /^i apologi[sz]e,? but\b/i,
  /^(?:i )?(?:cannot|can['’]?t|can not|won['’]t|will not|am unable to|am not able to|['’]m unable to|['’]m not able to) (?:assist|help|comply|fulfil|provide|answer|rewrite|create|generate|discuss|engage|support|do that)\b/i,
  /^i['’]m (?:unable|not able) to (?:assist|help|comply|fulfil|provide|answer|rewrite|create|generate|discuss|engage)\b/i,
  /^as an? (?:ai|artificial intelligence|(?:large )?language model)\b/i,
  /^(?:i['’]m|i am) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model)\b/i,
];

function isRefusal(text: string): boolean {
  const start = text.replace(/^[\s"'“*_>#]+/, '').slice(0, 200);
  return refusals.some(refusal => refusal.test(start));
}
