import { outsideQuotations } from './tokens.ts';
import { isOpener, isTypeName, names, numerals, requests } from './words.ts';

/** Patterns of sentences read whole prompts; longer ones, in characters, stay as they are. */
const maxLength = 1_000;

type Idiom = readonly [RegExp, string | ((...found: string[]) => string)];

const unit =
  '(degrees? (?:Celsius|Fahrenheit)|Celsius|Fahrenheit|grams?|kilograms?|kg|ounces?|oz|pounds?|lbs|miles?|kilomet(?:er|re)s?|km|met(?:er|re)s?|feet|inches|cm|centimet(?:er|re)s?|lit(?:er|re)s?|gallons?|cups?|hours?|minutes?|seconds?|days?|dollars|euros|USD|EUR)';
const me = '(?:[iI]|we|you|one)';
const article = '(?:the|an?|my|our|your|this|that|these|those|some|all|its|their)';
/** Verbs of a message, whose receiver stands behind them or behind the message. */
const telling =
  '(?:asking|telling|thanking|inviting|reminding|informing|warning|notifying|congratulating)';
const message = '(?:e-?mail|letter|message|note|mail|text|card)';
/** What is written beside code, and added to it. */
const beside = '(?:docstrings?|javadoc|jsdoc|type (?:hints|annotations))';
/** Adverbs that say how something is done, which stand before or behind the verb with its object. */
const manner =
  '(?:vertically|horizontally|safely|securely|automatically|manually|recursively|asynchronously|efficiently|programmatically|dynamically|locally|remotely|permanently|temporarily|gracefully|politely|periodically|alphabetically|randomly)';
const clauseWord =
  /\b(?:and|or|but|that|which|who|if|when|while|unless|before|after|to)\b|[,;:.?!]/i;
/** A word behind a verb to which an adverb at the end could belong. */
const participle = / \p{L}+(?:ing|ed|en)\b| (?:sent|built|made|kept|lost|run|found|sold)\b/iu;
/** "to" before a noun. */
const toNoun = /\bto (?=(?:an?|the|my|our|your)\b)/giu;
/** Adjectives that are read behind "that is" as well. */
const state =
  '(?:broken|missing|empty|duplicated|deprecated|deleted|stopped|expired|outdated|archived|merged|untracked)';
/** A verb and the determiner of its object. Further on a clause may belong to several nouns. */
const verbOfObject = String.raw`(?<=(?:^|(?:\bthat|\bwhich|,) )\p{L}+ (?:(?:me|us|the|an?|my|our|all|any|every|each|some) )*)`;

/** Measures by the adjective that asks for them. */
const measures: ReadonlyMap<string, string> = new Map([
  ['tall', 'height'],
  ['high', 'height'],
  ['old', 'age'],
  ['deep', 'depth'],
  ['wide', 'width'],
  ['heavy', 'weight'],
  ['big', 'size'],
  ['large', 'size'],
  ['fast', 'speed'],
]);

/** The verb of a participle, if it is one of a request: "translated" of "translate". */
function verbOf(participle: string): string | undefined {
  const lower = participle.toLowerCase();
  if (lower === 'written') return 'write';
  if (lower === 'made') return 'make';
  const stems = [lower.slice(0, -1), lower.slice(0, -2), lower.slice(0, -3)];
  return [...stems, lower.replace(/ied$/, 'y')].find(stem => requests.has(stem));
}

/** Ways to say one thing, each with the one that is compared. Quotations are numbers between private characters. */
const idioms: readonly Idiom[] = [
  // Questions
  [
    /^(?:what|which) (?:day of the week|weekday) (?:was|did) (.{4,40}?)(?: fall(?: on)?)?$/i,
    'what weekday was $1',
  ],
  [
    /^(?:what|which) (?:day of the week|weekday) (?:is|does|will) (.{4,40}?)(?: fall(?: on)?| be)?$/i,
    'what weekday is $1',
  ],
  [new RegExp(String.raw`^(?:what|how much) is (\d.{1,40}?) in ${unit}$`, 'i'), 'convert $1 to $2'],
  [
    new RegExp(String.raw`^how many ${unit} (?:are|is) (?:there )?in (\d.{1,60})$`, 'i'),
    'convert $2 to $1',
  ],
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
    /(?<=^|, )(?:(?:tell me |check |explain )?(?:if|whether) it is|is it) safe to /i,
    'can i safely ',
  ],
  [/^is it safe for (.{2,40}?) to /i, 'can $1 safely '],
  [
    new RegExp(
      String.raw`^how (?:do|would|can|should) ${me} (?:say|translate) (\ue000\d+\ue001) (?:in|into|to) (?=\p{Lu}\p{L}+$)`,
      'u',
    ),
    'translate $1 to ',
  ],
  [
    new RegExp(
      String.raw`^what(?:'s| is) the (\p{Lu}\p{L}+) (?:translation of|for|word for) (\ue000\d+\ue001)$`,
      'u',
    ),
    'translate $2 to $1',
  ],
  [
    /^(?:what(?:'s| is)|give me|show me|suggest) an? (polite|safe|secure) way (?:to|of) (.+)$/i,
    (all, adjective = '', rest = '') =>
      clauseWord.test(rest) ? all : `how do i ${rest} ${adjective}ly`,
  ],
  [
    new RegExp(
      String.raw`(?<=^|, )(how (?:do|can|could|would|should) ${me} )get ((?:the|my|our|this|these) .{2,40}?|it|them|\p{Lu}\p{L}+) to (?!${article} |\p{Lu})(?=\p{L})`,
      'u',
    ),
    '$1make $2 ',
  ],
  [
    /^(?:do you have|have you got|got|are there)? ?any (ideas|tips|advice|suggestions)\b/i,
    'give me $1',
  ],
  [new RegExp(`^what (?:should|could|can|would) ${me} name `, 'i'), 'suggest a name for '],

  [
    new RegExp(
      String.raw`^(what|which) (.{2,40}?) should be (\p{L}+ed|written|made)(?! by\b)`,
      'iu',
    ),
    (all, which = '', noun = '', participle = '') => {
      const verb = verbOf(participle);
      return verb && !clauseWord.test(noun) ? `${which} ${noun} should i ${verb}` : all;
    },
  ],
  [
    // Without "safely" it may be about what others do: "can I be fired" is not "can I fire".
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

  // Requests
  [
    new RegExp(
      String.raw`^(write|send|draft|compose) ((?:my|our) (?:\p{L}+ )?\p{L}+?|\p{Lu}\p{L}+) (an? (?:\p{L}+[ -]){0,4}?${message})\b`,
      'u',
    ),
    '$1 $3 to $2',
  ],
  [/\bget ((?:\p{L}+ )?(?:stains?|wine|ink|gum|blood)) out of (?=\p{L})/iu, 'remove $1 from '],
  [/^(?:do|perform|give me) an? code review of /i, 'review '],
  [
    /^(?:give me|give|provide|write|i need) an? (?:short |brief |simple )?explanation of (?=(?:how|why|what|when|where)\b)/i,
    'explain ',
  ],
  [
    /^(?:give me|write|write me|provide|create) an? (\p{L}+|\d+)[- ](paragraph|sentence|page|word|bullet|line)s? (summary|explanation) of (.+)$/iu,
    (all, count = '', unit = '', noun = '', rest = '') => {
      const verb = noun.toLowerCase() === 'summary' ? 'summarize' : 'explain';
      const ending = /^(?:one|single|1)$/i.test(count) ? '' : 's';
      return clauseWord.test(rest) ? all : `${verb} ${rest} in ${count} ${unit}${ending}`;
    },
  ],
  [
    new RegExp(
      String.raw`^(?:i|we)(?:'d| would)? (?:need|want|like) ((?:the|my|our|this|these) .{2,60}?|this|it|these) (translated|summarized|summarised|converted|shortened|corrected|formatted|refactored|simplified|reviewed|explained|checked)(?= (?:to|into|in|from|as|with|for|so|on|without)\b|$)`,
      'iu',
    ),
    (all, object = '', participle = '') => {
      const verb = verbOf(participle);
      return verb && !clauseWord.test(object) ? `${verb} ${object}` : all;
    },
  ],
  [
    /^(?:(?:do|make|perform|conduct|carry out) an? (?=review|analysis|conversion|calculation|comparison|refactoring)|i (?:need|want) an (?=implementation))(review|analysis|implementation|conversion|calculation|comparison|refactoring) of /i,
    (all, noun = '') => {
      const verb = actions.get(noun.toLowerCase());
      return verb ? `${verb} ` : all;
    },
  ],
  [
    /^(?:i(?:'m| am) looking for|(?:can|could|may) i (?:have|get)) (?=an? (?:\p{L}+ ){0,4}(?:recipe|regex|query|formula|name|title|slogan|poem|joke|template|letter|example)\b)/iu,
    'give me ',
  ],
  [/^draw (?=an? (?:\p{L}+ ){0,3}(?:diagram|chart|graph)\b)/iu, 'create '],
  [/\bchange the name of (.{1,60}?) (from .{1,60}? )?to (?=\S)/i, 'rename $1 $2to '],
  [
    new RegExp(
      String.raw`\badd ((?:an? |some |the )?(?:\p{L}+ ){0,2}?(?:${beside} (?:to|for)|(?:documentation|tests?) for))\b`,
      'iu',
    ),
    (_, found = '') => `write ${found.replace(/to$/, 'for')}`,
  ],
  [
    new RegExp(
      String.raw`\b(${message}) (${telling}) (${article} (?:\p{L}+ ){1,3}?)(?=(?:for|that|about|of|if|whether|how)\b)`,
      'iu',
    ),
    '$1 to $3$2 ',
  ],
  [
    new RegExp(String.raw`\b(${message} to .{2,40}? ${telling}) (?:him|her|them) (?=for\b)`, 'iu'),
    '$1 ',
  ],
  [
    /\bmake ((?:it|this|(?:(?:this|my|the|our|these) (?:\p{L}+ )?(?:e-?mail|text|paragraph|sentence|essay|headline|title|message|letter|note|article|story|bio|cv|resume|summary|speech|reply|answer|post|description|caption|tweet)s?))) sound (?=(?:more|less|\p{L}+er)\b)/iu,
    'make $1 ',
  ],
  [
    /\brewrite (.{2,60}?) (?:so(?: that)?|to) (?:(?:it|they) )?(?:is|are|sounds?|comes? across as|be) (?=(?:more|less) |\p{L}+er\b)/iu,
    'make $1 ',
  ],
  [
    /\brewrite (.{2,60}?) in an? ((?:more|less) \p{L}+|\p{L}+er) (?:tone|style|way|voice|manner)\b/iu,
    'make $1 $2',
  ],
  [
    /\b(?:rewrite|refactor|convert|change|update) (.{2,60}?) (?:to use|so (?:that )?it uses|using) (?=\p{L}+\/\p{L})/u,
    'convert $1 to ',
  ],
  [/\brefactor (.{2,60}?) (?:in)?to (?=\p{L}+\/|\p{Lu})/u, 'convert $1 to '],
  [/\b(?:rewrite|port) (.{2,60}?) (?:in|to) (?=\p{Lu}\p{L}*[#+]*(?:$|[.?!]))/u, 'convert $1 to '],

  // Parts of sentences
  [/(?<=^| )\.(?=(?:csv|json|yaml|pdf|txt|log|zip|tar\.gz) (?:files?|archives?)\b)/gi, ''],
  [/\bsteps for (?=\p{L}+ing\b)/giu, 'steps to '],
  [/(?<=\p{L} )name ideas (?=for\b)/giu, 'names '],
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
  [/\b(tips|advice|ideas|suggestions|hints) (?:on|for|about) how to (?=\p{L})/giu, '$1 to '],
  [/(?<=\p{L}s)'(?= \p{L})/gu, ''],
  [/\bso (?:that )?(?:it|they) uses? (?=\p{L})/iu, 'to use '],
  [
    new RegExp(
      String.raw`${verbOfObject}(\p{L}{2,}) (?:that|which) (?:are not|aren't|is not|isn't) (used|needed|tested|documented)(?=$|[.?!])`,
      'iu',
    ),
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
  [new RegExp(`\\b(?:regarding|concerning)(?= ${article}\\b)`, 'gi'), 'about'],
  [
    /(?<=\b(?:hotels?|restaurants?|cafes?|bars?|parks?|apartments?|flats?|shops?|parking|places?|schools?) )close to(?= )/gi,
    'near',
  ],
  [
    /\bper (?!(?:second|minute|hour|day|night|week|month|quarter|year|cent|se)\b)(?=\p{L}{2})/giu,
    'for each ',
  ],
  [
    /^((?:create|make|build|generate|design|find|list|show|write|add|give me|i need|i want) (?:(?:an?|the|all|every|me) )*(?:(?!(?:to|with|for|from|in|on|of|by)\b)[\p{L}-]+ ){1,3})(?:that|which) (?:has|have|contains?|includes?) (?!(?:been|had|to|not|no|never|become|already|just|always|recently|since|\p{L}+ed|\p{L}+en)\b)(?=[\p{L}\d])/iu,
    '$1with ',
  ],
  [
    /(?:,? (?:and|yet|but)(?: still)? (?:keep|preserve|retain)|(?:,? while|,)(?: still)? (?:keeping|preserving|retaining))(?= (?:the|my|our|your|all|any|its|their|both) )/giu,
    ' without losing',
  ],
  [/,? without (?:losing|discarding)(?: any(?: of)?)?(?= \p{L})/giu, ' without losing'],
  [
    new RegExp(
      String.raw`${verbOfObject}(\p{L}{2,}) (?:that|which)(?:'s| is|'re| are) (${state})(?=[.?!]|$)`,
      'iu',
    ),
    '$2 $1',
  ],
  [
    new RegExp(
      String.raw`((?:^|\b(?:to|(?<!(?:^|, )can )(?:i|we|you)) ))(${manner}) (\p{L}+ [^]{1,60})$`,
      'iu',
    ),
    (all, lead = '', adverb = '', rest = '') =>
      clauseWord.test(rest.replaceAll(toNoun, '')) || participle.test(rest)
        ? all
        : `${lead}${rest} ${adverb}`,
  ],
];

/** Verbs of nouns that only another verb makes an action: "do a review of" is "review". */
const actions: ReadonlyMap<string, string> = new Map([
  ['review', 'review'],
  ['analysis', 'analyze'],
  ['implementation', 'implement'],
  ['conversion', 'convert'],
  ['calculation', 'calculate'],
  ['comparison', 'compare'],
  ['refactoring', 'refactor'],
]);

const wholeOf = (count: string): string => (count === 'one' ? '1' : (numerals.get(count) ?? count));

/** What somebody did who is called so. */
const deeds: ReadonlyMap<string, string> = new Map([
  ['painter', 'painted'],
  ['author', 'wrote'],
  ['writer', 'wrote'],
  ['inventor', 'invented'],
  ['composer', 'composed'],
  ['founder', 'founded'],
  ['designer', 'designed'],
  ['creator', 'created'],
  ['discoverer', 'discovered'],
]);

/** Words that are often written without their accents. Without those of others they are other words: "rosé", "maté". */
const accented =
  /(?<!\p{L})(?:crème|brûlée|fraîche|cafés?|naïve|façades?|jalapeños?|clichés?|piñatas?|soufflés?|purées?|décor|São|Zürich|Málaga|Córdoba)(?!\p{L})/giu;
/** Names of persons and places within a sentence: "García Márquez". */
const accentedName =
  /(?<=\p{Lu}\p{Ll}+ )\p{Lu}\p{L}{3,}|(?<=\p{L} )\p{Lu}\p{L}{3,}(?= \p{Lu}\p{Ll})/gu;
const aboutAccents =
  /\b(?:types?|typed?|mean\w*|codes?|entit\w+|accent\w*|spell\w*|pronounc\w*|Spanish|German|French|Portuguese|letters?)\b/i;
function withoutAccents(text: string): string {
  const plain = (word: string) => word.normalize('NFD').replaceAll(/\p{M}/gu, '').normalize('NFC');
  const rest = text.replaceAll(accented, plain);
  return aboutAccents.test(rest) ? rest : rest.replaceAll(accentedName, plain);
}

/** A request in English in the wording that is compared: "how tall is it" as "what is the height of it". */
export function withoutIdioms(text: string): string {
  return text.length > maxLength ? text : outsideQuotations(text, inOneWording);
}

function inOneWording(text: string): string {
  let rest = withoutAccents(text).replace(/^\p{Lu}\p{Ll}+(?= (\S+))/u, (word, next: string) =>
    isOpener(word.toLowerCase()) && !isTypeName(word, next) ? word.toLowerCase() : word,
  );
  const end = /[\s.?!]*$/.exec(rest)?.[0] ?? '';
  rest = rest.slice(0, rest.length - end.length);
  for (const [pattern, replacement] of idioms)
    rest =
      typeof replacement === 'string'
        ? rest.replace(pattern, replacement)
        : rest.replace(pattern, replacement);
  return rest + end;
}
