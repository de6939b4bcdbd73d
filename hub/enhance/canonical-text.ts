import { pattern } from './technical-names.ts';
import { outsideQuotations } from './tokens.ts';
import { announcement, leads } from './openings.ts';
import { asked, languageOf, requests, small, talk, wordsOf } from './words.ts';

/** A prompt, split into its request and the text that the request is about. */
type Parts = {
  /** The request, with plain typography. */
  readonly head: string;
  /** The text after the first colon or line break. Only whitespace is normalized. */
  readonly payload: string;
};

/** Matches code, in which whitespace matters. */
const code = /```|^(?:\t| {2,})\S|[{};][ \t]*$/m;

/** Matches a request that ends with the text it is about, in quotes: `Correct the grammar in "He go to school"`. */
const quotedAtEnd =
  /^((?:fix|correct|check|improve|proofread|rewrite|rephrase|paraphrase|reword|summari[sz]e|shorten|simplify|translate)\b(?:(?!\b(?:so|prints?|matches|contains?|as|errors?|message)\b)[^"\n])*?)(?: in| of)? ("[^" \n]+ [^" \n]+ [^"\n]+")[.?!]?$/i;

/** Splits a prompt at the end of its request. */
export function partsOf(text: string): Parts {
  const parts = splitAtColon(text);
  const [, head, quote] = (parts.payload === '' && quotedAtEnd.exec(parts.head)) || [];
  return head && quote ? { head, payload: quote } : parts;
}

function splitAtColon(text: string): Parts {
  const whole = text.normalize('NFC').replaceAll(/\r\n?/g, '\n').replace(/^\s+/, '').trimEnd();
  const asked = announcement.exec(whole)?.[0] ?? '';
  const rest = whole.slice(asked.length);
  // A colon in a quotation does not end the request.
  const masked = rest.replaceAll(/"[^"\n]*"|“[^”\n]*”|`[^`\n]+`/g, found =>
    '_'.repeat(found.length),
  );
  const at = masked.search(/:(?=\s)|\n|```/);
  const head = at < 0 ? rest : rest.slice(0, at);
  const payload = at < 0 ? '' : rest.slice(at).replace(/^[:\s]+(?=\S)/, '');
  return {
    head: plain(head),
    payload: /^[:\s]*$/.test(payload) ? '' : collapsed(payload, rest.slice(at)),
  };
}

/** True if two texts differ only in typography, bullets or the final full stop. Code must be equal. */
export function isSameText(a: string, b: string): boolean {
  if (a === b) return true;
  if ([a, b].some(text => code.test(text) || text.includes('`'))) return false;
  const [left, right] = [a, b].map(text =>
    withDashes(plain(text))
      .replace(/^("[^"]*"|'[^']*')[.?!]$/, '$1')
      .replace(/^"([^"]*)"$/, '$1')
      .replace(/(?<=\p{L}{2})[.!]$/u, ''),
  );
  return left === right;
}

/** Replaces bullets by dashes. Whitespace is collapsed, so a text is a list only if it begins with a bullet. */
function withDashes(text: string): string {
  const [bullet] = /^[*•](?= )/.exec(text) ?? [];
  return bullet ? text.replace(bullet, '-').replaceAll(` ${bullet} `, ' - ') : text;
}

function collapsed(payload: string, asWritten: string): string {
  return code.test(asWritten) ? asWritten : payload.replaceAll(/\s+/g, ' ').trim();
}

const count = String.raw`(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred)`;
/** Matches the beginning of a range: "between 1990 and 2000". */
const range = pattern.gi`(?<!difference )\bbetween (${count}) and (?=${count}\b)`;

export const withPlainQuotes = (text: string): string =>
  text
    .replaceAll(/[\u2018-\u201b\u2039\u203a\u02bc\u2032]/g, "'")
    .replaceAll(/\u00ab\s?|\s?\u00bb|[\u201c-\u201f\u2033]/g, '"');

/** Converts a prompt in capitals to lower case, except a short one, where "IT" may be an abbreviation. */
export const withoutShouting = (text: string): string =>
  outsideQuotations(text, prose =>
    !/\p{Ll}/u.test(prose) && prose.split(' ').length > 5 && !/\b(?:IT|US|WHO)\b/.test(prose)
      ? prose.toLowerCase()
      : prose,
  );

/** Replaces typographic characters by those of a keyboard, and collapses whitespace. */
export function plain(text: string): string {
  return withPlainQuotes(text.normalize('NFC'))
    .replaceAll(/[\u200b\u2060\ufeff\u00ad]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\u2010\u2011\u2212]|(?<=\d) ?\u2013 ?(?=\d)/g, '-')
    .replaceAll(/(?<=\d) ?\u00d7 ?(?=\d)|(?<=\d) x (?=\d)/g, 'x')
    .replaceAll(/ ?[\u2013\u2014] ?/g, ' - ')
    .replaceAll(/(?<![\d-])(\d{1,3})-(\d{1,3})(?![\d.-])/g, '$1 to $2')
    .replaceAll(/(?<=\d) (?:through|thru) (?=\d)/g, ' to ')
    .replaceAll(range, 'from $1 to ')
    .replaceAll(/(?<=\S) & (?=\S)/g, ' and ')
    .replaceAll(/(?<=\d) ?([ap])\.m\.?(?!\p{L})/giu, '$1m')
    .replaceAll('\u2264', '<=')
    .replaceAll('\u2265', '>=')
    .replaceAll('\u2260', '!=')
    .replaceAll('\u2026', '...')
    .replaceAll(/[\u2192\u27f6]/g, '->')
    .trim();
}

/** Matches "please can you", after which every verb is a request. */
const politeQuestion = /^(?:please|pls),? (?:can|could|would|will) you /i;
const help = /^(?:help me|i need (?:your )?help) (?:to )?(\p{L}+)/iu;
const question = /^(can|could|would|will) you (\p{L}+)/iu;

/** Matches "can you convert this to JSON", a request, but not "can you convert a tuple to a list", a question. */
const aboutOwn = /^(?:can|could|will|would) you \p{L}+ (?:it|this|these|those|my|our)\b/iu;
/** Matches "can you create a Dockerfile", a request, but not "can you make a list immutable", a question. */
const makesOne =
  /^(?:can|will|would) you (?:implement |(?:write|draft|create|generate|design|compose)(?: me| us)? (?:an?|some) )/i;

/** Thanks at the end of a prompt. Most need punctuation before them, because a prompt may be about such words. */
const trails = [
  /\s*[,.!?;-]\s*(?:many thanks|thanks|thank you|thx|ty|cheers|merci|gracias|danke)(?: (?:a lot|so much|very much|in advance|again|beaucoup|schön|im voraus))*[\s.!]*$/i,
  /\s*[,.!?;]\s*i(?: would|'d)? (?:really )?appreciate (?:it|that|your (?:help|time))[\s.!]*$/i,
  /\s*[,.!?;-]\s*(?:many thanks|thanks|thank you)(?: so much| very much| a lot)? (?:for|in advance for) (?:your (?:help|time|support)|helping(?: me)?)[\s.!]*$/i,
  /\s*,?\s*(?:please and thank you|pretty please)[\s.!]*$/i,
  /\s*,?\s*(?:if it(?:'s| is) not too much (?:trouble|to ask|work)|at your earliest convenience)[\s.!?]*$/i,
  /\s*,\s*(?:would|could|can|will) you\s*\?*$/i,
  /\s*,?\s*if you (?:would|could|please)[\s.!]*$/i,
  /(?<=[.!?])\s*(?:ta|cheers|x{1,3}|thx|tia)[\s.!]*$/i,
  /(?<=[\p{L}.!?])\s*[\p{Extended_Pictographic}\ufe0f\u200d]+\s*$/u,
  /\s+[:;]-?\)$/,
  /\s*[,.;-]\s*(?:that(?:'s| is) (?:all|it)|you know)[\s.!?]*$/i,
  /\s*,\s*if you (?:don't|do not) mind[\s.!?]*$/i,
  /\s*,\s*i (?:guess|suppose)(?<!\b(?:translat|say|said|tone|answer|read|ending|grammar|quot|repl|respon|mean|word|phrase).*)[\s.!?]*$/i,
  /\s*[,.!?;]\s*(?:(?:best|kind|warm|many) (?:regards|wishes)|cheers|have a (?:nice|great|good) (?:day|one|weekend|evening)|(?:i(?:'m| am) )?looking forward to (?:it|your (?:answer|reply|help))|any help (?:is|would be) (?:much |greatly )?(?:appreciated|welcome)|i(?:'d| would) be (?:very |so |really )?(?:grateful|thankful))[\s.!]*$/i,
  /\s*[,.!?;-]\s*(?:(?:that|it)(?:'d| would) be (?:really |so |very )?(?:great|nice|helpful|awesome|lovely|perfect|fantastic|wonderful|amazing|much appreciated|appreciated)|much appreciated|appreciate it|if (?:that's|that is) (?:ok|okay|possible)|if possible|if you can|when(?:ever)? you (?:have|get|find) (?:a |some |any )?(?:minute|moment|time|chance))[\s.!]*$/i,
  /\s*,\s*(?:please|pls|plz|bitte|s'il (?:te|vous) plaît|svp|stp|por favor)[\s.!?]*$/i,
];
/** Words between commas that add nothing to a request. */
const interjection =
  /, (?:you know|i mean|i guess|i suppose|by the way|please|kindly|if possible|if you can|actually|basically)(?=,)/gi;
/** Emphasis after a question word: "what on earth is". */
const emphasis =
  /^(what|why|how|who|where|when) (?:on earth|in the world|the heck|the hell|exactly|actually|precisely)(?= )/i;
const bareTrail = /\s+(?:please|pls|plz|s'il (?:te|vous) plaît|svp|stp|por favor)[\s.!?]*$/i;
const forMe = /\s+for me[\s.!?]*$/i;

/** Words that show that a prompt may be about polite words themselves. */
const aboutWords =
  /\b(?:say|says|saying|(?<!\d )words?|phrase|spell|translate|mean|means|print|echo|named|called|übersetze|traduis|traduce)\b/i;

const maxRounds = 6;

/**
 * Removes polite words at both ends of a prompt, unless the prompt may be about them. `isWhole`: no text follows the
 * request; before a text, thanks are not removed.
 */
export function withoutFiller(text: string, isWhole: boolean): string {
  let rest = text.trim();
  let isPolite = false;
  for (let round = 0; round < maxRounds; round++) {
    const shorter = withoutLead(rest);
    if (shorter === rest) break;
    rest = shorter;
    isPolite = true;
  }
  for (let round = 0; isWhole && round < maxRounds; round++) {
    const shorter = withoutTrail(rest, isPolite);
    if (shorter === rest) break;
    rest = shorter;
  }
  if (!aboutWords.test(rest)) rest = rest.replaceAll(interjection, '').replace(emphasis, '$1');
  if (languageOf(wordsOf(rest.toLowerCase())) === 'de' && !aboutWords.test(rest))
    rest = rest.replace(/(?<=\p{L} )bitte /giu, '');
  return wordsOf(rest).length < 2 ? text.trim() : rest;
}

function withoutLead(text: string): string {
  if (politeQuestion.test(text)) return text.replace(politeQuestion, '');
  const [found, modal, verb = ''] = question.exec(text) ?? [];
  const isRequest = (modal?.toLowerCase() === 'could' ? asked : talk).has(verb.toLowerCase());
  const isOwn = requests.has(verb.toLowerCase()) && aboutOwn.test(text);
  if (found && (isRequest || isOwn || makesOne.test(text)))
    return text.slice(found.length - verb.length);
  const [helped, wanted = ''] = help.exec(text) ?? [];
  if (helped && requests.has(wanted.toLowerCase()))
    return text.slice(helped.length - wanted.length);
  const lead = leads.find(pattern => pattern.test(text));
  return lead ? text.replace(lead, '') : text;
}

function withoutTrail(text: string, isPolite: boolean): string {
  const isAboutWords = aboutWords.test(text);
  const trail = trails.map(pattern => pattern.exec(text)?.[0] ?? '').find(Boolean);
  const isOutside = /\b(?:into|to) \p{Lu}\p{L}+\s*,/u.test(
    text.slice(0, text.length - (trail?.length ?? 0) + 2),
  );
  if (trail && (isOutside || !(isAboutWords && /^\s*[,;-]/.test(trail))))
    return text.slice(0, -trail.length);
  if (isAboutWords) return text;
  if (isPolite && forMe.test(text)) return text.replace(forMe, '');
  const shorter = text.replace(bareTrail, '');
  return small.has(wordsOf(shorter.toLowerCase()).at(-1) ?? '') ? text : shorter;
}
