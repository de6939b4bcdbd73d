import { type Notation, replaced, pattern } from './technical-names.ts';

const noun = '(?:sentence|text|paragraph|phrase|passage|message)';
const given = `(?:this|the following|these|the given)`;
const verb =
  '(translate|rewrite|rephrase|paraphrase|reword|summari[sz]e|proofread|shorten|simplify|correct|improve|edit|polish)';
const mistakes = '(grammar|spelling|punctuation|grammar and spelling|spelling and grammar|typos)';

/** Different wordings for a text that follows, each with the common wording for comparison. */
const wordings: readonly Notation[] = [
  [/^sum (?:this|it) up\b/gi, 'summarize this text'],
  [/^[tT]ranslate ((?:in)?to \p{Lu}\p{L}+) ((?:this|the|these|my|our) .+)$/gu, 'translate $2 $1'],
  [/\bin a single (?=sentence|paragraph|line)/gi, 'in one '],
  [pattern.gi`(?<=^${verb} |^make |\b(?:of|in) )${given} ${noun}\b`, 'this text'],
  [/^make (?:this text|this|it) better$/gi, 'improve this text'],
  [pattern.gi`^${verb} (?:this|it|the following)\b(?! text)`, '$1 this text'],
  [pattern.gi`^${verb}(?=$| (?:in|into|to|from|as|with|so|using)\b)`, '$1 this text'],
  [
    /^make this (?=(?:more|less|sound|shorter|longer|simpler|clearer|formal|polite|friendlier)\b)/gi,
    'make this text ',
  ],
  [
    pattern.gi`^(fix|correct|check|improve) (?:the |any )?${mistakes}(?: errors| mistakes)?$`,
    '$1 the $2 of this text',
  ],
  [
    pattern.gi`^(fix|correct|check|improve) (?:the |any )?${mistakes}(?: errors| mistakes)? (?:in|of) (?=this text)`,
    '$1 the $2 of ',
  ],
];

/** Rewrites a request about a text after it: "Translate to French" as "Translate this text to French". */
export const withTextNamed = (request: string): string => replaced(request, wordings);
