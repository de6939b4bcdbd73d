import { type Notation, pattern } from '../technical-names.ts';
import { requests, tableOf, talk } from '../words.ts';
import { article, clauseWord, verbOf } from './clause-words.ts';

const unit =
  '(degrees? (?:Celsius|Fahrenheit)|Celsius|Fahrenheit|grams?|kilograms?|kg|ounces?|oz|pounds?|lbs|miles?|kilomet(?:er|re)s?|km|met(?:er|re)s?|feet|inches|cm|centimet(?:er|re)s?|lit(?:er|re)s?|gallons?|cups?|hours?|minutes?|seconds?|days?|dollars|euros|USD|EUR)';
const me = '(?:[iI]|we|you|one)';
/** Nouns for measures, by the adjective that asks for them: "how tall" asks for the height. */
const measures = tableOf(
  `tall height | high height | old age | deep depth | wide width | heavy weight | big size | large size | fast speed`,
);
/** What a person of each profession does to a work: the author of a book wrote it. */
const deeds = tableOf(
  `painter painted | author wrote | writer wrote | inventor invented | composer composed | founder founded |
  designer designed | creator created | discoverer discovered`,
);

const comparative = String.raw`(?:better|worse|(?:more|less) \p{L}+|\p{L}+er)`;
const preposition = '(?:for|in|on|to|at|with)';

/**
 * Returns the question which of two things is better, with the two sorted. Undefined in "red or green paper" and "a cat
 * or a dog with a bell", where a word may belong to both.
 */
function comparedOf(one: string, other: string, rest: string): string | undefined {
  const isPair = one.split(' ').length === other.split(' ').length;
  const isPlain = ![one, other].some(text => clauseWord.test(text));
  return isPair && isPlain ? `is ${[one, other].toSorted().join(' or ')} ${rest}` : undefined;
}

/** Wordings of a question, each with the common one. Quotations are numbers between private-use characters. */
export const questions: readonly Notation[] = [
  [
    /^(?:what|which) (?:day of the week|weekday) (?:was|did) (.{4,40}?)(?: fall(?: on)?)?$/i,
    'what weekday was $1',
  ],
  [
    /^(?:what|which) (?:day of the week|weekday) (?:is|does|will) (.{4,40}?)(?: fall(?: on)?| be)?$/i,
    'what weekday is $1',
  ],
  [pattern.i`^(?:what|how much) is (\d.{1,40}?) in ${unit}$`, 'convert $1 to $2'],
  [pattern.i`^how many ${unit} (?:are|is) (?:there )?in (\d.{1,60})$`, 'convert $2 to $1'],
  [/^(?:which|what) features are new in (.+)$/i, 'what are the new features of $1'],
  [
    /^(?:which|what) new features did (.+?) (?:introduce|bring|add)$/i,
    'what are the new features in $1',
  ],
  [
    /^(?:give me|what is|what's|write|provide) (?:the|an?) (\p{Lu}\p{L}+) translation (?:of|for) (this .+|\ue000.+)$/iu,
    'translate $2 into $1',
  ],
  [/^what changed (?=between\b|in\b)/i, 'what are the changes '],
  [
    /^(?:give (?:me )?|write |provide )an? (?:brief|short|concise|quick) summary of (.+)$/i,
    'briefly summarize $1',
  ],
  [/^summari[sz]e (.+) briefly$/i, 'briefly summarize $1'],
  [
    /(?<=^|\b(?:i|we|you) (?:can )?)use (\p{Lu}[\p{L}\d.+#-]*) to (?=\p{L})(?!be\b|the\b)(.+)$/iu,
    '$2 using $1',
  ],
  [/^why (?:isn't it|is it not) safe\b/i, 'why is it unsafe'],
  [/^for how long\b/i, 'how long'],
  [/^how far (?:away )?is it from (.+?) to (.+)$/i, 'what is the distance between $1 and $2'],
  [/^how far (?:away )?is (.+?) from (.+)$/i, 'what is the distance between $1 and $2'],
  [/^what(?:'s| is) the distance from (.+?) to (.+)$/i, 'what is the distance between $1 and $2'],
  [
    /^how (tall|high|old|deep|wide|heavy|big|large|fast) (?:is|are) (?=\p{L})/iu,
    (all, adjective = '') => {
      const measure = measures.get(adjective.toLowerCase());
      return measure ? `what is the ${measure} of ` : all;
    },
  ],
  [
    /^(?:tell me )?how (tall|high|old|deep|wide|heavy|big|large|fast) ([^,]+?) (?:is|are)$/iu,
    (all, adjective = '', noun = '') => {
      const measure = measures.get(adjective.toLowerCase());
      return measure ? `what is the ${measure} of ${noun}` : all;
    },
  ],
  [/^how much (?:do|does) (.+) weigh$/i, 'what is the weight of $1'],
  [/^(?:how much|what) (?:do|does) (.+) cost$/i, 'what is the price of $1'],
  [/^(?:what|which) (.+?) (?:does|do) (.+?) use by default$/i, 'what is the default $1 of $2'],
  [
    /^(?:what|which)(?:'s| is) the default (.+?) (?:in|for) (?=\S+$)/i,
    'what is the default $1 of ',
  ],
  [/^what time is it(?: now| right now)?(?= in\b|$)/i, 'what is the current time'],
  [
    /^(?:what|which) command (\p{L}+)s (?=\S)/iu,
    (all, verb = '') => (requests.has(verb.toLowerCase()) ? `how do i ${verb} ` : all),
  ],
  [/^(?:what|which) (.+?) (?:is|are) used by (.+?) by default$/i, 'what is the default $1 of $2'],
  [
    /(?<=^|, )(?:(?:tell me |check |explain )?(?:if|whether) it is|is it)(?: actually| really)? safe to /i,
    'can i safely ',
  ],
  [/^is it safe for (.{2,40}?) to /i, 'can $1 safely '],
  [
    pattern.u`^how (?:do|would|can|should) ${me} (?:say|translate) (\ue000\d+\ue001) (?:in|into|to) (?=\p{Lu}\p{L}+(?:(?:, \p{Lu}\p{L}+)* and \p{Lu}\p{L}+)?$)`,
    'translate $1 to ',
  ],
  [
    pattern.u`^what(?:'s| is) (?:the )?(\p{Lu}\p{L}+) (?:translation of|for|word for) (\ue000\d+\ue001)$`,
    'translate $2 to $1',
  ],
  [
    /^(?:what(?:'s| is)|give me|show me|suggest) an? (polite|safe|secure) way (?:to|of) (.+)$/i,
    (all, adjective = '', rest = '') =>
      clauseWord.test(rest) ? all : `how do i ${rest} ${adjective}ly`,
  ],
  [
    pattern.u`(?<=^|, )(how (?:do|can|could|would|should) ${me} )get ((?:the|my|our|this|these) .{2,40}?|it|them|\p{Lu}\p{L}+) to (?!${article} |\p{Lu})(?=\p{L})`,
    '$1make $2 ',
  ],
  [
    /^(?:do you have|have you got|got|are there)? ?any (ideas|tips|advice|suggestions)\b/i,
    'give me $1',
  ],
  [pattern.i`^what (?:should|could|can|would) ${me} name `, 'suggest a name for '],

  [
    pattern.iu`^(what|which) (.{2,40}?) should be (\p{L}+ed|written|made)(?! by\b)`,
    (all, which = '', noun = '', participle = '') => {
      const verb = verbOf(participle);
      return verb && !clauseWord.test(noun) ? `${which} ${noun} should i ${verb}` : all;
    },
  ],
  [
    // Requires "safely": without it, the subject may be passive. "can I be fired" is not "can I fire".
    /^(can|could) (?!(?:i|we|you|he|she|they) )(.{2,40}?) be (?:safely (\p{L}+ed)|(\p{L}+ed) safely|(\p{L}+ed)(?= .*\bsafely$))(?! by\b)/iu,
    (all, modal = '', noun = '', behind = '', before = '', last = '') => {
      const verb = verbOf(behind || before || last);
      const adverb = last ? '' : 'safely ';
      return verb && !clauseWord.test(noun) ? `${modal} i ${adverb}${verb} ${noun}` : all;
    },
  ],
  [
    /\b(?:see|check|find out|tell|know|determine) (?:which|what) version of (\S+) (?:(?:i have|is)(?: installed| running)?|i am (?:using|running)|i'm (?:using|running))$/i,
    'check the version of $1',
  ],

  [
    /^(?:what|which) (?!steps\b)(.{2,40}?) (?:is|are) (?:needed|required|necessary) (to|for) /i,
    'what $1 do i need $2 ',
  ],
  [
    /^([^.?!]{5,150}?)(?:[.,;!]| -) why(?:(?: is| does) (?:that|this|it)(?: happen(?:ing)?)?)?$/i,
    'explain why $1',
  ],
  [
    /^i(?:'m| am)? (?:keep )?(?:getting|get|seeing|see) ([^.?!]{3,100}?)[,.;] (?:and |so )?how (?:do|can|could|should|would) i (fix|solve|resolve|debug|get rid of|prevent|avoid) (?:it|this|that)$/i,
    'how do i $2 $1',
  ],
  [
    pattern.iu`^what(?:'s| is) (?:needed|required|necessary) to (?=(?:bake|build|cook|grow|install|make|open|run|set up|start) ${article} )`,
    'what do i need to ',
  ],
  [
    /^((\p{L}+) [^,.;:?!]{5,100})(?:,| -) how(?: (?:do|can|could|would|should) (?:i|you|we|one) do (?:that|this|it))?$/iu,
    (all, action = '', verb = '') =>
      requests.has(verb.toLowerCase()) && !talk.has(verb.toLowerCase())
        ? `how do i ${action}`
        : all,
  ],
  [
    pattern.iu`(?<=^|\b(?:show me|show|explain|explain to me|tell me|describe) )how one (\p{L}{2,})s (?=${article} )`,
    (all, verb = '') => (requests.has(verb.toLowerCase()) ? `how to ${verb} ` : all),
  ],
  [/^what(?:'s| is) the fix for /i, 'how do i fix '],
  [
    /^who (?:is|was|are|were) the (painter|author|writer|inventor|composer|founder|designer|creator|discoverer)s? of /i,
    (all, person = '') => {
      const deed = deeds.get(person.toLowerCase());
      return deed ? `who ${deed} ` : all;
    },
  ],
  [
    /^what can i (?:use (?:instead of|in place of|as an? (?:substitute|alternative|replacement) for)|substitute for) /i,
    'what is a substitute for ',
  ],
  [
    /^how (large|big|long) can (.+) be$/i,
    (_, adjective = '', noun = '') =>
      `what is the maximum ${adjective.toLowerCase() === 'long' ? 'length' : 'size'} of ${noun}`,
  ],
  [
    /^(?:what(?:'s| is) the |which )?(git|docker|kubectl|bash|linux|npm|psql|shell|powershell|vim|excel) (?:command|formula) (?:to|for(?= \p{L}+ing\b)) (.+)$/iu,
    'how do i $2 in $1',
  ],
  [
    /^(\p{L}+ing [^,.?!]+), how (?:is (?:it|that|this) done|do (?:i|you) do (?:it|that|this))$/iu,
    'how do i $1',
  ],
  [/^(.{3,80}) (?:was|were) (\p{L}+) by whom$/iu, 'who $2 $1'],
  [
    pattern.iu`^(?:which(?: one)? is|what is(?= (?:better|worse|more|less)\b)) (${comparative})((?: ${preposition} [^,:;]{2,60})?)[,:] ([^,:;]{1,60}?) or ([^,:;]{1,60})$`,
    (all, adjective = '', rest = '', one = '', other = '') =>
      comparedOf(one, other, adjective + rest) ?? all,
  ],
  [
    pattern.iu`^(?:is|are) ([^,:;]{1,60}?) or ([^,:;]{1,60}?) (${comparative}(?: ${preposition} [^,:;]{2,60})?)$`,
    (all, one = '', other = '', rest = '') => comparedOf(one, other, rest) ?? all,
  ],
  [
    pattern.iu`^(?:walk|talk|guide|take) me through (\p{L}+ing) (?=${article} )`,
    'how do i go about $1 ',
  ],
  [/^what (roles?) (?:do|does) (.{2,80}?) play(?= in\b|$)/i, 'what is the $1 of $2'],
  [/^how do (.{2,80} and .{2,80}) compare$/i, 'compare $1'],
  [/^how does (.{2,80}?) compare (?:to|with) (?=\S)/i, 'compare $1 with '],
  [
    /^(?:what|which(?: one)?) (should) (i|we) (?!do )(\p{L}+)((?: for [^,;:?!]{2,60})?)[,:] ([^,;:?!]{1,60} or [^,;:?!]{1,60})$/iu,
    '$1 $2 $3 $5$4',
  ],
  [/(?<=^|, )how (?:do|does) (.+?) and (.+?) differ$/i, 'what is the difference between $1 and $2'],
  [/^(?:is|are) (.{2,30}?) safe to (\p{L}+)$/iu, 'can i safely $2 $1'],
  [/^(?:is|are) (.{2,30}?) safe for (.{2,30}?) to (\p{L}+)$/iu, 'can $2 safely $3 $1'],
  [/^is there (an?) (.{2,40}?) in (\p{Lu}\S*(?: \d\S*)?)$/u, 'does $3 have $1 $2'],
  [/^is it (?:ok|okay|alright|all right) to /i, 'is it okay to '],
  [/^what(?:'s| is) the weather like\b/i, 'how is the weather'],
  [
    /^(?:when(?:'s| is) (?:the )?best time(?: of (?:the )?(?:year|day))? to|what(?:'s| is) (?:the )?best time(?: of (?:the )?(?:year|day) to| to(?= (?:visit|go|travel|plant|buy|sell|book|eat|exercise|study|sleep)\b))) /i,
    'when should i ',
  ],
  [/^(\S+(?: \S+)?) vs\.? (\S+(?: \S+)?)(?= in \S+$)/i, 'what is the difference between $1 and $2'],
  [/^what(?:'s| is) new in (?=.*\d)/i, 'what are the new features in '],
  [/^(?:what(?:'s| is)|how much is|compute) (\d[\d.]* ?(?:%|percent)) of /i, 'calculate $1 of '],
  [/^(can|could) (\p{L}+|my \p{L}+) (\p{L}+ .+) safely$/iu, '$1 $2 safely $3'],
];
