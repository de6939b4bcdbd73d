import { type Notation, pattern } from '../technical-names.ts';
import { tableOf } from '../words.ts';
import { article, clauseWord, verbOf } from './clause-words.ts';

/** Verbs of a message. Its receiver may be after the verb or after the message. */
const telling =
  '(?:asking|telling|thanking|inviting|reminding|informing|warning|notifying|congratulating)';
const message = '(?:e-?mail|letter|message|note|mail|text|card)';
/** Documentation that is written next to code. */
const beside = '(?:docstrings?|javadoc|jsdoc|type (?:hints|annotations))';
/** Verbs for nouns of actions: "do a review of" is "review". */
const actions = tableOf(
  `review review | analysis analyze | implementation implement | conversion convert | calculation calculate |
  comparison compare | refactoring refactor`,
);

/** Different wordings of a request, each with the common wording for comparison. */
export const requests: readonly Notation[] = [
  [
    pattern.u`^(write|send|draft|compose) ((?:my|our) (?:\p{L}+ )?\p{L}+?|\p{Lu}\p{L}+) (an? (?:\p{L}+[ -]){0,4}?${message})\b`,
    '$1 $3 to $2',
  ],
  [/\bget ((?:\p{L}+ )?(?:stains?|wine|ink|gum|blood)) out of (?=\p{L})/iu, 'remove $1 from '],
  [/^(?:do|perform|give me) an? code review of /i, 'review '],
  [
    /^(?:give me|give|provide|write|i need) an? (?:short |brief |simple )?explanation of (?=(?:how|why|what|when|where)\b)/i,
    'explain ',
  ],
  [
    /^(?:give me|give|write|provide) an? detailed (description|explanation) of (?!(?:how|why|what|when|where)\b)/i,
    (_, noun = '') => `${noun.toLowerCase() === 'description' ? 'describe' : 'explain'} in detail `,
  ],
  [
    /^(describe|explain) ([^,.;:?!]{2,100}?) in detail(?=$| for\b)/i,
    (all, verb = '', object = '') =>
      clauseWord.test(object) ? all : `${verb} in detail ${object}`,
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
    pattern.iu`^(?:i|we)(?:'d| would)? (?:need|want|like) ((?:the|my|our|this|these) .{2,60}?|this|it|these) (translated|summarized|summarised|converted|shortened|corrected|formatted|refactored|simplified|reviewed|explained|checked)(?= (?:to|into|in|from|as|with|for|so|on|without)\b|$)`,
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
    /^(?:i(?:'m| am) looking for|(?:can|could|may) i (?:please )?(?:have|get)) (?=an? (?:\p{L}+ ){0,4}(?:recipe|regex|query|formula|name|title|slogan|poem|joke|template|letter|example)\b)/iu,
    'give me ',
  ],
  [/^draw (?=an? (?:\p{L}+ ){0,3}(?:diagram|chart|graph)\b)/iu, 'create '],
  [/\bchange the name of (.{1,60}?) (from .{1,60}? )?to (?=\S)/i, 'rename $1 $2to '],
  [
    pattern.iu`\badd ((?:an? |some |the )?(?:\p{L}+ ){0,2}?(?:${beside} (?:to|for)|(?:documentation|tests?) for))\b`,
    (_, found = '') => `write ${found.replace(/to$/, 'for')}`,
  ],
  [
    pattern.iu`\b(${message}) (${telling}) (${article} (?:\p{L}+ ){1,3}?)(?=(?:for|that|about|of|if|whether|how)\b)`,
    '$1 to $3$2 ',
  ],
  [pattern.iu`\b(${message} to .{2,40}? ${telling}) (?:him|her|them) (?=for\b)`, '$1 '],
  [
    /\bmake ((?:it|this|(?:(?:this|my|the|our|these) (?:\p{L}+ )?(?:e-?mail|text|paragraph|sentence|essay|headline|title|message|letter|note|article|story|bio|cv|resume|summary|speech|reply|answer|post|description|caption|tweet)s?))) sound (?=(?:more|less|\p{L}+er)\b)/iu,
    'make $1 ',
  ],
  [/^make ((?:this|my|our) \p{L}+) better$/iu, 'improve $1'],
  [
    /^(fix|correct|check|improve) (?:the |any |all )?((?:grammar|spelling|punctuation)(?:(?:,| and) (?:grammar|spelling|punctuation))*)(?: errors| mistakes)? (?:in|of) (?=(?:the|this|my|our|these) )/i,
    '$1 the $2 of ',
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
];
