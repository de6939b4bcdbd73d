import { withoutFiller } from '../canonical-text.ts';
import * as words from '../words.ts';
import { alikeTo, contentWords, lowerWords, proseOf, sentencesOf } from './text.ts';

/** Returns true for verbs that ask for information, by their stems. A question may be rewritten as such a request. */
const informing =
  stems(`explain describe show list give provide tell compare identify outline discuss
  clarify summarize summarise determine find calculate compute state name define answer recommend suggest analyze
  analyse evaluate estimate check verify investigate help walk detail elaborate research present share specify
  diagnose troubleshoot examine explore indicate advise teach break convert translate illustrate
  erklär erläuter beschreib zeig nenn list gib geb vergleich schilder stell fass sag berechn bestimm find empfiehl
  empfehl ermittl prüf analysier beantwort rechne
  explique expliqu décri décriv donne donn compare compar résum indiqu montr présent détaill calcul précis
  explica expliqu describ da dame dé enumer compar resum muestr indic propón detall calcul di
  dime explícame cuéntame muéstrame enséñame recomiéndame descríbeme`);

/** Returns true for verbs that ask for a thing or an action, by their stems. */
const making =
  stems(`write create make generate draft compose craft develop design produce prepare build plan
  act adapt add address adjust apply arrange ask assess assume assist begin brainstorm carry categorize choose cite
  classify collect come combine compile complete conduct configure consider construct correct cover debug decide
  deliver demonstrate devise edit enhance ensure establish evaluate expand extract fill fix focus follow format
  formulate group guide highlight imagine implement improve include incorporate insert invent keep limit locate map
  mention modify move offer optimize order organize paint perform pick play port prioritize propose rank rate read
  refactor remove rename replace reply respond restructure return review revise rewrite rephrase search set sketch
  solve sort split structure study take tailor test think transform turn update use wrap send call remind notify announce invite apologize thank congratulate persuade convince
  proofread spellcheck paraphrase reword redo critique grade quiz continue finish complete answer
  schreib erstell verfass formulier entwickl plan übersetz überarbeit korrigier verbesser benenn beheb füg lösch
  entwirf mach bau such sortier ersetz sammle wandle entwerf
  rédig écri écriv crée cré propos tradui traduis corrig modifi fai fais prépar planifi développ trouv réécri ajout
  génér élabor organis supprim fournis
  escrib cre redact traduc gener haz elabor planific organiz corrig mejor prepar busc encuentr desarroll añad
  proporcion diseñ`);

function stems(text: string): (word: string) => boolean {
  const all = words.wordsOf(text);
  const known = new Set(all);
  // At least three letters remain: "die" and "das" are no forms of the Spanish "di" and "da".
  const ending = /(?<=.{3})(?:en|e|t|st|n|ez|er|z|s|ons|a|ar|ir|es)$/u;
  return word => known.has(word) || known.has(word.replace(ending, ''));
}

export const isVerb = (word: string) => informing(word) || making(word) || words.requests.has(word);

const wish = new RegExp(
  [
    /\b(?:i|we)\b.{0,20}\b(?:need|want|like to|looking for|trying to|interested in)\b/,
    /\b(?:ich|wir)\b.{0,20}\b(?:brauchen?|möchten?|will|wollen|suchen?)\b/,
    /\b(?:je|nous)\b.{0,20}\b(?:voudrais|veux|cherche|souhaite)\b/,
    /(?<!\p{L})(?:necesito|quiero|quisiera|busco|please|bitte|s'il (?:te|vous) plaît|por favor)(?!\p{L})/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'iu',
);
const modal =
  /\b(?:must|should|shall|has to|have to|needs? to|soll(?:te|en)?|muss|müssen|doi(?:t|vent)|devrait|deben?|debería)\b/i;
const task =
  /^(?:your |the |my )?(?:task|goal|objective|aim|aufgabe|ziel|tâche|objectif|objetivo|tarea|context|kontext|contexte|contexto)\b/i;
const document =
  /^(?:an? |the )?(?:[\w-]+ ){0,3}(?:guide|tutorial|explanation|overview|list|table|comparison|answer|instructions|plan|summary)\b/i;

/** `inquiry`: a question, or a request for information. `order`: a request for a thing or an action. */
type Form = 'inquiry' | 'order' | 'statement';

const composing =
  /^(?:write|compose|draft|generate|propose|brainstorm|formulate|schreibe?|verfasse?|formuliere?|rédige[rz]?|écris|écrivez|propose[rz]?|escribe|redacta|propón)$/;

const asking =
  /^(?:whats|what's|hows|how's|whos|who's|where's|is|are|does|do|did|can|could|should|would|will|was|were|has|have)$/;

/** Returns the form of a prompt, by the first words of its sentences. */
export function formOf(prompt: string): Form {
  const clauses = sentencesOf(proseOf(withoutFiller(prompt.slice(0, maxPromptLength), true)));
  const forms = clauses.map(sentenceForm);
  return forms.find(form => form !== 'statement') ?? 'statement';
}

function sentenceForm(sentence: string): Form {
  const [first = ''] = lowerWords(sentence);
  if (/^(?:can|could|would|will) (?:you|u)\b/i.test(sentence)) return 'order';
  if (/^do not\b/i.test(sentence)) return 'order';
  const isAsked = words.questions.has(first) || asking.test(first);
  if (isAsked || /[?\uff1f]$/.test(sentence)) return 'inquiry';
  if (informing(first)) return 'inquiry';
  return isRequest(sentence) ? 'order' : 'statement';
}

const leading = words.wordSet('then also next first second third finally now just and or');

/** True if a sentence is at the beginning of a text, and not after a quotation. */
const isFirst = (sentence: string, text: string) => lowerWords(sentence)[0] === lowerWords(text)[0];

/** True for a question that may replace an order. For a prompt without "how", it must not ask how to do it. */
const isOffer = (sentence: string, prompt: string) =>
  sentenceForm(sentence) === 'inquiry' && (/\bhow\b/i.test(prompt) || !/^how\b/i.test(sentence));

/** Returns the first word of each part, without "then", "briefly" and the like: "explique" of "explique-moi". */
export const openersOf = (sentence: string): readonly string[] =>
  sentence.split(/[,:;]\s|\s[-\u2013\u2014]\s|\b(?:and|then|und|et|y)\s/).flatMap(part =>
    lowerWords(part)
      .filter(word => !word.endsWith('ly') && !leading.has(word))
      .slice(0, 1)
      .map(word => word.replace(/-(?:moi|nous|lui|leur|les?|la)$/, '')),
  );

const isRequest = (sentence: string) =>
  wish.test(sentence) || task.test(sentence) || openersOf(sentence).some(isVerb);

/** True if a sentence is a question, but not "What a task!" or the end of another sentence: ", which is it". */
const isQuestion = (sentence: string) =>
  /^[\p{L}\p{M}¿"'(]/u.test(sentence) &&
  !/!$|^what an?\b/i.test(sentence) &&
  words.questions.has(lowerWords(sentence)[0] ?? '');

/** True if a sentence asks for information, as a rewritten question does. */
function isInquiry(sentence: string): boolean {
  const [first = '', ...rest] = lowerWords(sentence);
  if (/[?\uff1f]$/.test(sentence) || isQuestion(sentence)) return true;
  if (wish.test(sentence) || task.test(sentence)) return true;
  if (making(first) && document.test(rest.join(' '))) return true;
  if (composing.test(first)) return true;
  return openersOf(sentence).some(informing);
}

/** Length of the beginning of a prompt, in characters, that is compared with an answer. */
const maxPromptLength = 2_000;
/** Number of sentences at the beginning of a result, one of which must be a request. */
const maxOpening = 4;

/**
 * Returns why a result looks like an answer to its prompt; undefined if it may be a prompt. Supports only languages
 * whose verbs are known.
 */
export function whyAnswer(prompt: string, result: string): string | undefined {
  const wanted = contentWords(prompt.slice(0, maxPromptLength));
  // A prompt without content words gives no hint what its answer contains.
  if (wanted.length === 0) return undefined;
  const form = formOf(prompt);
  const all = sentencesOf(proseOf(result));
  const opening = all.slice(0, maxOpening);
  const isKnown = alikeTo(wanted);
  const isAbout = (sentence: string) => isStatementAbout(sentence, prompt, isKnown);
  if (form === 'inquiry') {
    if (!opening.some(isInquiry)) return 'it answered the question';
    const isAnswer =
      all.some(isAbout) || isGuide(all) || isMethod(prompt, sentencesOf(result)[0] ?? '');
    return isAnswer ? 'it answered the question' : undefined;
  }
  const isWish = (sentence: string) => modal.test(sentence) && modal.test(prompt);
  const isPrompt = opening.some(
    (sentence, at) =>
      isRequest(sentence) ||
      isWish(sentence) ||
      (at === 0 && isFirst(sentence, result) && isOffer(sentence, prompt)),
  );
  if (form === 'order') return isPrompt ? undefined : 'it carried the prompt out';
  const hasRequest = isPrompt || all.some(sentence => isInquiry(sentence) || isRequest(sentence));
  return !hasRequest && !says.test(prompt) && all.some(isAbout)
    ? 'it answered the question'
    : undefined;
}

const directive =
  /^(?:include|cover|mention|keep|focus|limit|format|assume|consider|structure|ensure|address|highlight|make sure|use (?:simple|plain|short|an?|bullet|markdown|clear)\b)/i;

const reason = /^(?:because|since|due to|weil|parce que|car|porque)\b/i;

/** True if a question is followed by a reason or by steps: "How to remove rust: 1. Use a brush." */
const isGuide = ([first = '', ...rest]: readonly string[]): boolean =>
  words.questions.has(lowerWords(first)[0] ?? '') &&
  rest.some(sentence => {
    const [opener = ''] = lowerWords(sentence);
    if (reason.test(sentence)) return true;
    return making(opener) && !isInquiry(sentence) && !directive.test(sentence);
  });

const howTo =
  /\bhow (?:to|(?:do|can|could|should|would|might) (?:i|we|you|one|people)) ([\p{L}\p{M}-]+)/iu;
const instrument = /\b(?:with|by|using|via|through)\b(.+)$/is;
const aboutMethods =
  /\b(?:how|ways?|steps?|methods?|instructions?|approach(?:es)?|options?|examples?|explain|describe|explanations?)\b/i;

/** True if a prompt asks how to do something, and a sentence says by which means: "Find large files with du." */
function isMethod(prompt: string, sentence: string): boolean {
  const verb = howTo.exec(prompt)?.[1]?.toLowerCase();
  if (verb === undefined || !openersOf(sentence).slice(0, 1).includes(verb)) return false;
  if (/[?\uff1f]$/.test(sentence)) return false;
  const [, means = ''] = instrument.exec(sentence) ?? [];
  // "Describe how to describe a role" is still a question.
  const rest = sentence.slice(verb.length);
  const isKnown = alikeTo(lowerWords(prompt));
  const isNew = (word: string) => !words.small.has(word) && !isKnown(word);
  const isCode = /^\s*`/.test(means) && !prompt.includes('`');
  return !aboutMethods.test(rest) && (isCode || lowerWords(means).some(isNew));
}

const verbs = 'is|are|was|were|means|refers to|ist|sind|war|est|sont|es|son|está';
/** Matches verbs such as "is". A prompt without one may be a question in key words: "capital of australia". */
const says = new RegExp(`\\b(?:${verbs})\\b`, 'i');
const statement = new RegExp(`^(.{2,80}?)\\b(?:${verbs})\\b(.*)$`, 'is');

/** True if a sentence states something about the prompt: "The capital of Australia is Canberra." or "It is 29." */
function isStatementAbout(
  sentence: string,
  prompt: string,
  isKnown: (word: string) => boolean,
): boolean {
  if (isInquiry(sentence) || isRequest(sentence)) return false;
  const [subject, rest] = statement.exec(sentence)?.slice(1) ?? [];
  if (subject === undefined || rest === undefined) return false;
  const numbers = rest.match(/\d+/g) ?? [];
  if (numbers.some(number => !prompt.includes(number))) return true;
  return contentWords(subject).some(isKnown) && contentWords(rest).some(word => !isKnown(word));
}

const codeInfo = /^(?:json|ya?ml|markdown|md|te?xt|csv|xml|toml)?$/i;
const codeStart =
  /^(?:(?:import|def|function|const|let|var|class|public|package|func|fn|#include|from) .*[\w({;:]$|<!doctype|<html|#!\/|select\b[^\n]*\bfrom\b)/im;

const codeBlock = /```([\w+-]*)[^\n]*\n([\s\S]*?)```/g;

/** True if a result has code that its prompt does not have: it answers a request for code. */
export function isWrittenCode(prompt: string, result: string): boolean {
  const given = new Set(Array.from(prompt.matchAll(codeBlock), ([, , code = '']) => code.trim()));
  const isGiven = (code: string) => given.has(code) || prompt.includes(code);
  const added = [...result.matchAll(codeBlock)].some(
    ([, info = '', code = '']) =>
      (!codeInfo.test(info) || codeStart.test(code)) && !isGiven(code.trim()),
  );
  return (
    added || (codeStart.test(result.slice(0, 200).split('\n')[0] ?? '') && !codeStart.test(prompt))
  );
}

const letter =
  /^(?:subject|betreff|objet|asunto)\s*:|^(?:dear|sehr geehrte\w*|liebe[rs]?|chère?|estimad[oa]|querid[oa])\s[^\n]{0,60},\s*\n/i;
const yesNo = /^(?:yes|no|yeah|nope|ja|nein|oui|non|sí)\s*[,.!]/i;
const advice =
  /^(?:[^.?!\n]{3,120}, (?:you|we) (?:can|could|need|should|have|may|must)\b|(?:in order )?to [^.?!\n]{3,120}, (?:you|we|simply|just|first|use)\b|here(?:'s| is| are)|there (?:is|are)|you (?:can|could|should|may|might)|hier (?:ist|sind)|(?:du kannst|sie können|man kann)|voici|(?:vous pouvez|tu peux|on peut)|aquí (?:está|están|tienes)|(?:puedes|se puede))\b/i;

/** True if a result begins like an answer, such as a letter, "yes" or advice. */
export const beginsAsAnswer = (prompt: string, result: string): boolean =>
  [letter, yesNo, advice].some(pattern => pattern.test(result) && !pattern.test(prompt));
