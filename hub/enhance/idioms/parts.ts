import { type Notation, pattern } from '../technical-names.ts';
import { names, numerals, tableOf } from '../words.ts';
import { article, clauseWord } from './clause-words.ts';

/** Adverbs of manner, which may be before the verb or after its object. */
const manner =
  '(?:vertically|horizontally|safely|securely|automatically|manually|recursively|asynchronously|efficiently|programmatically|dynamically|locally|remotely|permanently|temporarily|gracefully|politely|periodically|alphabetically|randomly)';
/** Words in a verb phrase that an adverb at the end could belong to. */
const participle = / \p{L}+(?:ing|ed|en)\b| (?:sent|built|made|kept|lost|run|found|sold)\b/iu;
/** Matches "to" before a noun. */
const toNoun = /\bto (?=(?:an?|the|my|our|your)\b)/giu;
/** Adjectives that mean the same after "that is". */
const state =
  '(?:broken|missing|empty|duplicated|deprecated|deleted|stopped|expired|outdated|archived|merged|untracked)';
/** Pattern for a verb and the determiner of its object. A clause later in the sentence may belong to several nouns. */
const verbOfObject = String.raw`(?<=(?:^|(?:\bthat|\bwhich|,) )\p{L}+ (?:(?:me|us|the|an?|my|our|all|any|every|each|some) )*)`;
/** Words that begin another part of a sentence. */
const clauseBegin =
  '(?:how|what|why|who|that|with|in|to|at|about|and|or|for|from|can|could|should)\\b';
/** Adverbs for "held every day", "held every week" and so on. */
const rhythms = tableOf(
  'day daily | week weekly | month monthly | quarter quarterly | year yearly',
);
const wholeOf = (count: string): string => (count === 'one' ? '1' : (numerals.get(count) ?? count));

/** Different wordings of a part of a sentence, each with the common wording for comparison. */
export const parts: readonly Notation[] = [
  [/(?<=^| )\.(?=(?:csv|json|yaml|pdf|txt|log|zip|tar\.gz) (?:files?|archives?)\b)/gi, ''],
  [/\bsteps for (?=\p{L}+ing\b)/giu, 'steps to '],
  [/(?<=\p{L} )name ideas (?=for\b)/giu, 'names '],
  [/\beven (?=mean\b)/gi, ''],
  [
    pattern.giu`(?<=\b(?:for|explain\b.* to|teach\b.* to) (?:an?|my|our) [\p{L}\d]{1,12}-year-old) (?:child|kid)(?=$|[.,?!;]| ${clauseBegin})`,
    '',
  ],
  [
    pattern.gi`(?<=\b(?:for|by|of|do|should|can) )(women|men|adults|seniors) (?:aged |who are )?(over|older than|under|younger than) (?:the age of )?(\d\d)(?: years old)?(?=$|[.,?!;]| ${clauseBegin})`,
    (_, people = '', limit = '', age = '') =>
      `${people} ${/^o/i.test(limit) ? 'older' : 'younger'} than ${age}`,
  ],
  [/\bboth (?=\p{L}+ly and \p{L}+ly\b)/giu, ''],
  [
    /^(explain|describe|show)( me| us)?(?: (?:to|for) me)?(?:, step by step,| step by step(?= (?:how|why|what|the|an?) )) ([^.;:?!]{5,200})$/iu,
    (_, verb = '', person = '', rest = '') => `${verb}${person} ${rest} step by step`,
  ],
  [/^((?:explain|describe|show) [^.;:?!,]{5,200}), step by step$/iu, '$1 step by step'],
  [/\bfor (?=(?:less than|under|at most|up to) [$€£]\d)/gi, ''],
  [
    /\bto (\d+ ?\p{L}+) (wide|high)\b/giu,
    (_, amount = '', side = '') => `to a ${side === 'wide' ? 'width' : 'height'} of ${amount}`,
  ],
  [/\bmake (\S+(?: \S+)?) (?:not|stop) (?=\p{Ll}{3})/gu, 'stop $1 from '],
  [/\bcount the number of (?=\p{L}+s\b)/giu, 'count the '],
  [
    /(?<=\b(?:translate|say|spell|pronounce|define|what does|(?:synonyms?|antonyms?|opposites?|rhymes?) (?:of|for)) )the (?:word|term|phrase|expression|sentence) (?=\ue000)/iu,
    '',
  ],
  [
    /\bhow (.{1,40}?) and (.{1,40}?) differ(?: from (?:each other|one another))?$/i,
    'the difference between $1 and $2',
  ],
  [/\bany more\b(?! \p{L}+s\b)/giu, 'anymore'],
  [/(?<=[ (])version (?=\d)/gi, 'v'],
  [/\b(?:in|on) (?=(?:Windows|Linux|macOS|Ubuntu|Debian)\b)/g, 'on '],
  [/\b(fix|solve|resolve) (?:the|an?|this|my) error (?=\ue000)/gi, '$1 '],
  [/\b(fix|solve|resolve) (?:the|an?|this|my) (\ue000\d+\ue001) error\b/gi, '$1 $2'],
  [/(?<=^i(?: would)? )(?:just|really|simply) (?=need|want|like|love)/i, ''],
  [/\b(ways?) of (?=\p{L}+ing\b)/giu, '$1 for '],
  [/(?<=\b(?:differ|different)) from (?:each other|one another)\b/gi, ''],
  [
    /\b(tips|advice|ideas|suggestions|hints|instructions|guidelines) (?:on|for|about) how to (?!not\b)(?=\p{L})/giu,
    '$1 to ',
  ],
  [
    /\b(in|into|to) the (\p{Lu}[\p{L}\d+#]*) (?:programming |scripting )?language(?=$|[,.?!]| (?:for|that|which|with|from)\b)/gu,
    '$1 $2',
  ],
  [
    /(?<=\b(?:for|of) )(an?|the|our|my) ((?:(?!(?:of|for|in|with|and|to|on|at|from|by|that|who)\b)[\p{L}-]+ ){1,3})(?:(?:that|which) (?:is|are) )?held (?:(?:once (?:an?|every|per)|every|each) (day|week|month|quarter|year)|(daily|weekly|monthly|quarterly|yearly|annually))\b/giu,
    (_, before = '', noun = '', period = '', adverb = '') =>
      `${before} ${rhythms.get(period.toLowerCase()) ?? adverb} ${noun.trimEnd()}`,
  ],
  [/(?<=\p{L}s)'(?= \p{L})/gu, ''],
  [/\bso (?:that )?(?:it|they) uses? (?=\p{L})/iu, 'to use '],
  [
    pattern.iu`${verbOfObject}(\p{L}{2,}) (?:that|which) (?:are not|aren't|is not|isn't) (used|needed|tested|documented)(?=$|[.?!])`,
    'un$2 $1',
  ],
  [
    /\b(?:more than|over) (\d+ (?:days?|weeks?|months?|years?|hours?|minutes?)) old\b/gi,
    'older than $1',
  ],
  [
    /\b(?:less than|under) (\d+ (?:days?|weeks?|months?|years?|hours?|minutes?)) old\b/gi,
    'newer than $1',
  ],
  [
    /\b(one|two|three|four|five|\d+) and a half\b/gi,
    (_, count = '') => `${wholeOf(count.toLowerCase())}.5`,
  ],
  [/\ba quarter of an hour\b/gi, '15 minutes'],
  [/(?<=\p{L} )(?:that|which) (?:contains?|has|have) no (?=\p{L})/giu, 'without '],
  [/\ba person (?=who\b|that\b)/gi, 'someone '],
  [
    /(?<!\b(?:group|sort|order|partition|split|broken down|break|filter|search|find|select|name|label)(?:s|ed|ing)?\b.{0,80})(?<=\b(?:revenue|sales|orders|users|visits|visitors|costs?|expenses|requests|signups|downloads|traffic|income|profits?|spending)) by (day|week|month|year|quarter|hour)(?= (?:as|in|with|for|from|using)\b|[,.?!]|$)/gi,
    ' for each $1',
  ],
  [/\b(?:immediately|straight|directly) after\b/gi, 'right after'],
  [/(?<=\p{L}{2} )(?:that|which)(?: is| are|'s|'re) (?=\p{L}{3,}ing \S)/giu, ''],
  [
    /(?<=^(?:explain|describe) .{2,200}) (?:like|as if|as though) i(?:'m| am| were| was) (?:an? )?(five|ten|\d+)(?: years? old|-year-old)?$/i,
    ' to a $1-year-old',
  ],
  [
    /(?<=^(?:explain|describe) .{2,200}) (?:as if|as though) i(?:'m| am| were| was) (an? \p{L}+)$/iu,
    ' to $1',
  ],
  [
    /(?<=\b(?:is|me|explain|of) )(\p{Lu}\p{L}+)'s (capital|population|currency|flag|area|climate)(?=$|[.?!])/gu,
    (all, name = '', noun = '') => (names.has(name.toLowerCase()) ? all : `the ${noun} of ${name}`),
  ],
  [
    /\b(?:(?:that|which) )?serv(?:es|ing) (\d+|two|three|four|five|six|eight|ten|twelve)(?: people| persons)?(?=$|[.,;?!]| with\b| and\b)/giu,
    'for $1 people',
  ],
  [/\bmost recent\b/gi, 'latest'],
  [/\blatest (?=(?:git )?(?:commit|payslip|invoice|message|email|meeting|backup)\b)/gi, 'last '],
  [/\bbreak (.{2,60}?) up into\b/gi, 'split $1 into'],
  [
    /\b(latest|newest) (\d+|two|three|four|five|six|seven|eight|nine|ten|twenty) (?=\p{L})/giu,
    '$2 $1 ',
  ],
  [/(?<!\bquite )\ba few\b/gi, 'some'],
  [pattern.gi`\b(?:regarding|concerning)(?= ${article}\b)`, 'about'],
  [
    /(?<=\b(?:hotels?|restaurants?|cafes?|bars?|parks?|apartments?|flats?|shops?|parking|places?|schools?) )close to(?= )/gi,
    'near',
  ],
  [
    /\bper (?!(?:second|minute|hour|day|night|week|month|quarter|year|cent|se)\b)(?=\p{L}{2})/giu,
    'for each ',
  ],
  [
    /^((?:create|make|build|generate|design|find|list|show|write|add|give me|i need|i want) (?:(?:an?|the|all|every|me) )*(?:(?!(?:to|with|for|from|in|on|of|by)\b)[\p{L}-]+ ){1,4})(?:that|which) (?:has|have|contains?|includes?) (?!(?:been|had|to|not|no|never|become|already|just|always|recently|since|\p{L}+ed|\p{L}+en)\b)(?=[\p{L}\d])/iu,
    '$1with ',
  ],
  [
    /(?:,? (?:and|yet|but)(?: still)? (?:keep|preserve|retain)|(?:,? while|,)(?: still)? (?:keeping|preserving|retaining))(?= (?:the|my|our|your|all|any|its|their|both) )/giu,
    ' without losing',
  ],
  [/,? without (?:losing|discarding)(?: any(?: of)?)?(?= \p{L})/giu, ' without losing'],
  [
    pattern.iu`${verbOfObject}(\p{L}{2,}) (?:that|which)(?:'s| is|'re| are) (${state})(?=[.?!]|$)`,
    '$2 $1',
  ],
  [
    pattern.iu`((?:^|\b(?:to|(?<!(?:^|, )can )(?:i|we|you)) ))(${manner}) (\p{L}+ [^]{1,60})$`,
    (all, lead = '', adverb = '', rest = '') =>
      clauseWord.test(rest.replaceAll(toNoun, '')) || participle.test(rest)
        ? all
        : `${lead}${rest} ${adverb}`,
  ],
];
