import { requests } from '../words.ts';

export const article = '(?:the|an?|my|our|your|this|that|these|those|some|all|its|their)';
export const clauseWord =
  /\b(?:and|or|but|that|which|who|if|when|while|unless|before|after|to)\b|[,;:.?!]/i;

/** Returns the verb of a participle, if it is a verb of requests: "translate" for "translated". */
export function verbOf(participle: string): string | undefined {
  const lower = participle.toLowerCase();
  if (lower === 'written') return 'write';
  if (lower === 'made') return 'make';
  const stems = [lower.slice(0, -1), lower.slice(0, -2), lower.slice(0, -3)];
  return [...stems, lower.replace(/ied$/, 'y')].find(stem => requests.has(stem));
}
