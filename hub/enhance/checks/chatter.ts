import { lowerWords } from './text.ts';

/** Matches the beginning of a refusal, or of an answer in which a model talks about itself. */
const refusals = [
  /^(?:i['’]?m |i am )?(?:very |so |really |truly )?sorry,? (?:but )?(?:i|as an|that|this)\b/i,
  /^(?:i apologi[sz]e|unfortunately|my apologies),? (?:but )?(?:i|this|that|as)\b/i,
  /^(?:i )?(?:cannot|can['’]?t|can not|won['’]t|will not|am unable to|am not able to|['’]m unable to|['’]m not able to) (?:assist|help|comply|fulfil|provide|answer|rewrite|create|generate|discuss|engage|support|do that)\b/i,
  /^i['’]m (?:unable|not able) to (?:assist|help|comply|fulfil|provide|answer|rewrite|create|generate|discuss|engage)\b/i,
  /^as an? (?:ai|artificial intelligence|(?:large )?language model)\b/i,
  /^(?:i['’]m|i am) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model)\b/i,
  /^(?:es tut mir leid|tut mir leid|entschuldigung|leider kann ich|ich kann (?:dir |ihnen )?(?:dabei|das|diese\w*|leider) )/i,
  /^(?:je suis désolée?|désolée?,|je ne peux pas )/i,
  /^(?:lo siento|lamento |no puedo (?:ayudar|responder|proporcionar|cumplir))/i,
  /^(?:mi dispiace|desculpe|sinto muito|извините|к сожалению|抱歉|对不起|申し訳)/i,
];

export function isRefusal(text: string): boolean {
  const start = text.replace(/^[\s"'“*_>#]+/, '').slice(0, 200);
  return refusals.some(refusal => refusal.test(start));
}

/** Matches what a model says to the user instead of the prompt or around it. */
const chatter = [
  /^(?:sure|certainly|of course|absolutely|okay|ok|got it|great|no problem|happy to|gladly|natürlich|gerne|klar|selbstverständlich|bien sûr|d'accord|claro|por supuesto)\b(?= *[,.!]| i\b| here)/i,
  /^(?:great|good|nice|excellent|interesting|what an? \w+) (?:topic|question|idea|choice)\b|\bthe user (?:wants|asks|is asking|needs|would like)\b/i,
  /\bhere(?:'s| is| are) (?:the|an?|your|my|some|two|three|\d)\b.{0,40}\b(?:prompts?|versions?|rewrit\w+|options)\b/i,
  /\b(?:i have|i've|i) (?:rewritten|rewrote|improved|revised|rephrased|restructured|reworded|made (?:it|the prompt|your))\b/i,
  /\b(?:this|the) (?:(?:new|improved|rewritten|revised|enhanced) )?(?:version|prompt)(?: of the prompt)? (?:is|are|now|asks|provides|should|was|has|makes|includes|clarifies|keeps|maintains)\b/i,
  /\blet me know (?:if|whether|which|what)\b|\bi hope (?:this|that|it) helps\b|\bfeel free to (?:ask|modify|adjust)\b/i,
  /\bhow (?:can|may) i (?:help|assist)\b|\bi(?:'m| am| would be|'d be| will be|'ll be) (?:here|glad|happy|ready|excited|pleased) (?:to (?:help|assist)|you)\b|\bi(?:'ll| will| can) (?:provide|give|explain|show|help|suggest)\b/i,
  /\b(?:would you like|do you (?:want|need|prefer|have)|what(?:'s| is| are) your|could you (?:please )?(?:clarify|specify|share|provide (?:me )?(?:with )?more)|please (?:provide|clarify|specify|share) (?:me |us )?(?:with )?(?:more|the|your|a|any)\b.{0,40}\b(?:prompt|details|context|information|text)|interests you)\b/i,
  /^\s*\(?(?:note|explanation|changes)\b[^\n]{0,3}:|\bi (?:kept|changed|added|removed|preserved|clarified)\b/im,
  /\brewrite (?:this|it|the|your)\b|\b(?:this|the|your|original|rewritten|revised) prompts?\b|\bthe answer (?:to|is)\b|<\/?prompt_*>/i,
  /\b(?:hier ist|voici|aquí (?:está|tienes)|ecco)\b.{0,30}\b(?:prompt|version|versión)\b/i,
];

/** Number of consecutive words that a result may share with the instructions. */
const maxShared = 6;

/** True if a result talks about the prompt or to the user, or repeats the instructions. */
export function isChatter(text: string, prompt: string, system: string): boolean {
  if (chatter.some(pattern => pattern.test(text) && !pattern.test(prompt))) return true;
  const rowsIn = (from: string) => {
    const found = lowerWords(from);
    return found.slice(maxShared).map((_, at) => found.slice(at, at + maxShared + 1).join(' '));
  };
  const instructions = new Set(rowsIn(system));
  for (const row of rowsIn(prompt)) instructions.delete(row);
  return rowsIn(text).some(row => instructions.has(row));
}
